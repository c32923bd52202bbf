"""The conformance suite's ordinary server scenarios, through the gateway: the same results as without it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.peers import free_port
from tests.strangers.conformance.test_conformance import (
    ORDINARY,
    _each,
    _serving,
    _wait_until_it_listens,
    require_success,
)

pytestmark = [pytest.mark.stranger, pytest.mark.shows("W3")]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The ordinary server of the suite's tests, with which every scenario succeeds, behind a gateway."""
    folder, port = tmp_path_factory.mktemp("gateway"), free_port()
    log = folder / "log"
    with _serving("ordinary.py", folder / "server") as url, log.open("wb") as output:
        command = [sys.executable, "-c", "from handraise.cli import main; main()", "gateway"]
        process = subprocess.Popen(
            [*command, "--http", f"127.0.0.1:{port}", "--url", url, "--desk", "none"],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_until_it_listens(process, port, log)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            process.wait(timeout=15)


@pytest.mark.parametrize(("revision", "scenario"), _each(ORDINARY))
def test_the_suite_does_not_notice_the_gateway(
    revision: str, scenario: str, gateway: str, tmp_path: Path
) -> None:
    require_success(["server", "--url", gateway], scenario, revision, tmp_path)
