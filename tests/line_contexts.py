"""A pytest plugin: coverage keeps which test runs each line. `tests/mutations.py` uses it."""

from __future__ import annotations

import pytest
from coverage import Coverage


def pytest_runtest_logstart(nodeid: str) -> None:
    """From here on, lines belong to this test."""
    if (coverage := Coverage.current()) is not None:
        coverage.switch_context(nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """A worker does not always end by itself, so write what it has now."""
    if (coverage := Coverage.current()) is not None:
        coverage.stop()
        coverage.save()
