"""The conformance suite's ordinary server scenarios, through the gateway: the same results as without it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.peers import free_port
from tests.strangers.conformance.suite import ORDINARY, Suite, each, listening, serving

pytestmark = [pytest.mark.stranger, pytest.mark.shows("W3")]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The ordinary server of the suite's tests, with which every scenario succeeds, behind a gateway."""
    folder, port = tmp_path_factory.mktemp("gateway"), free_port()
    with serving("ordinary", folder / "server") as url:
        command = [str(Path(sys.executable).with_name("handraise")), "gateway", "--desk", "none"]
        command += ["--http", f"127.0.0.1:{port}", "--url", url]
        with listening(command, port, folder / "log") as at_gateway:
            yield at_gateway


@pytest.mark.parametrize(("revision", "scenario"), each(ORDINARY))
def test_the_suite_does_not_notice_the_gateway(
    revision: str, scenario: str, gateway: str, suite: Suite, tmp_path: Path
) -> None:
    suite.require_success(["server", "--url", gateway], revision, scenario, tmp_path)
