"""Homes in which a document's commands are typed; their sockets want short paths."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.shell import Shell


@pytest.fixture
def shell(programs: Path) -> Iterator[Shell]:
    with tempfile.TemporaryDirectory(prefix="hr", dir="/tmp") as folder:
        yield Shell(Path(folder), programs)
