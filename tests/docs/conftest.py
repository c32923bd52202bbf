"""Programs that start at once, and homes in which a document's commands are typed; their sockets want short paths."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.forked import quick_programs
from tests.docs.shell import Shell


@pytest.fixture(scope="session")
def programs() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="hr", dir="/tmp") as folder, quick_programs(Path(folder)) as path:
        yield path


@pytest.fixture
def shell(programs: Path) -> Iterator[Shell]:
    with tempfile.TemporaryDirectory(prefix="hr", dir="/tmp") as folder:
        yield Shell(Path(folder), programs)
