"""What every test shares."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest

from tests.requirements import REQUIREMENTS, claims


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def own_ledger_elsewhere() -> Iterator[None]:
    """What commands under test record does not go to the ledger of whoever runs the tests."""
    with tempfile.TemporaryDirectory(prefix="handraise-ledger-") as folder:
        before, os.environ["XDG_DATA_HOME"] = os.environ.get("XDG_DATA_HOME"), folder
        yield
        if before is None:
            del os.environ["XDG_DATA_HOME"]
        else:
            os.environ["XDG_DATA_HOME"] = before


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    missing = sorted(REQUIREMENTS.keys() - claims().keys(), key=list(REQUIREMENTS).index)
    shown = len(REQUIREMENTS) - len(missing)
    line = f"requirements shown: {shown} of {len(REQUIREMENTS)}"
    terminalreporter.write_line(line + (f"; no test yet: {' '.join(missing)}" if missing else ""))
