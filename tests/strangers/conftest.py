"""What the tests with strangers share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.strangers.conformance.suite import Suite
from tests.strangers.programs import environment as environment_of


@pytest.fixture
def environment(programs: Path) -> Iterator[dict[str, str]]:
    """A home of its own for the programs of one test."""
    with tempfile.TemporaryDirectory(prefix="hr", ignore_cleanup_errors=True) as home:
        yield environment_of(home, programs)


@pytest.fixture(scope="session")
def suite() -> Iterator[Suite]:
    """The conformance suite."""
    suite = Suite()
    yield suite
    suite.close()
