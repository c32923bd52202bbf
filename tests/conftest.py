"""What every test shares."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from functools import cache
from pathlib import Path
from ssl import SSLContext
from typing import TYPE_CHECKING

import httpcore2
import hypothesis
import pytest

from handraise.revisions import Revision
from tests import summary

if TYPE_CHECKING:
    from playwright.async_api import Browser


# What tests start does not take after whoever started the tests: a shell in the background ignores Ctrl+C, and make
# tells its parallel jobs to the makes below it.
signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.pop("MAKEFLAGS", None)

# No deadlines: on a busy machine an example may take long.
for name, examples in (("inner", 20), ("whole", 60), ("soak", 1000)):
    hypothesis.settings.register_profile(name, max_examples=examples, deadline=None)
hypothesis.settings.load_profile("whole")


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


@pytest.fixture(scope="session", autouse=True)
def certificates_read_once() -> Iterator[None]:
    """Whom the machine trusts is read once: every HTTP client reads it, which takes longer than most tests."""
    real = httpcore2.default_ssl_context

    @cache
    def read(trust_env: bool, file: str | None, folder: str | None) -> SSLContext:
        return real(_trust_env=trust_env)

    def trusted(*, _trust_env: bool = True) -> SSLContext:
        return read(_trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", trusted)
        yield


@pytest.fixture(scope="session")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:
    """One Chromium for all tests; each opens tabs of its own."""
    from tests.desks.web.browsing import open_browser  # a second to load, for these tests only

    async with open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def programs() -> Iterator[Path]:
    """A folder for the PATH with a `handraise` and a `python` that start at once; a short one, for sockets."""
    from tests.docs.forked import quick_programs

    with tempfile.TemporaryDirectory(prefix="hr", dir="/tmp") as folder, quick_programs(Path(folder)) as ours:
        yield ours


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without looking for garbage, of which there is none: that took as long as all the rest of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the oldest revision to `make test`: the inner loop has the one after it, which differs least from it."""
    for item in items:
        called = getattr(item, "callspec", None)
        if called is not None and Revision.JUNE_2025 in called.params.values():
            item.add_marker("slow")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what is shown, unless some tests were left out; with whom, only when they took part."""
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, ())
        if report.when == "call"
    ]
    if not terminalreporter.config.option.markexpr:
        terminalreporter.write_line(summary.requirements())
    for line in summary.scenarios((report.nodeid, report.outcome) for report in reports):
        terminalreporter.write_line(line)
    for name, text in (pair for report in reports for pair in report.user_properties):
        if name == "numbers":
            terminalreporter.write_line(str(text))
    if any("stranger" in report.keywords for report in reports):
        terminalreporter.write_line(summary.strangers())
