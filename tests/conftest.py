"""What every test shares."""

from __future__ import annotations

import pytest
from tests.requirements import REQUIREMENTS, claims


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    missing = sorted(REQUIREMENTS.keys() - claims().keys(), key=list(REQUIREMENTS).index)
    shown = len(REQUIREMENTS) - len(missing)
    line = f"requirements shown: {shown} of {len(REQUIREMENTS)}"
    terminalreporter.write_line(line + (f"; no test yet: {' '.join(missing)}" if missing else ""))
