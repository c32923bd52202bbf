"""What the tests with strangers share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest
from tests.strangers import programs


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """A home of its own for the programs of one test."""
    with tempfile.TemporaryDirectory(prefix="hr", ignore_cleanup_errors=True) as home:
        yield programs.environment(home)
