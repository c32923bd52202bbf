"""The official conformance suite meets servers that Handraise is installed in.

`make test` runs it on the newest SDK, and `make releases` on mcp 1.30.0 with the revisions that it speaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.strangers.conformance.generation import MCP, REVISIONS
from tests.strangers.conformance.suite import LOWLEVEL, ORDINARY, Suite, each, serving

pytestmark = [pytest.mark.stranger, pytest.mark.release]

ASKING = {
    "2025-06-18": [
        "tools-call-elicitation",
        "tools-call-sampling",
    ],
    "2025-11-25": [
        "tools-call-elicitation",
        "tools-call-sampling",
        "elicitation-sep1034-defaults",
        "elicitation-sep1330-enums",
    ],
    "2026-07-28": [
        "input-required-result-basic-elicitation",
        "input-required-result-basic-sampling",
        "input-required-result-basic-list-roots",
        "input-required-result-request-state",
        "input-required-result-multiple-input-requests",
        "input-required-result-multi-round",
        "input-required-result-missing-input-response",
        "input-required-result-non-tool-request",
        "input-required-result-result-type",
        "input-required-result-unsupported-methods",
        "input-required-result-tampered-state",
        "input-required-result-capability-check",
        "input-required-result-ignore-extra-params",
        "input-required-result-validate-input",
        "server-stateless",
        "tools-list",
        "prompts-list",
    ],
}


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("asking") / "log"
    with serving("server", log) as url:
        yield url
    said = log.read_text(encoding="utf-8")
    if MCP > 1:  # mcp 1.x logs a traceback of its own at the end of every session
        assert "Traceback" not in said, (
            said
        )  # a tool that crashes also gives content, and the suite may like it


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving("ordinary", tmp_path_factory.mktemp("ordinary") / "log") as url:
        yield url


@pytest.mark.parametrize(("revision", "scenario"), each(ASKING, REVISIONS))
def test_the_suite_is_content_with_a_server_that_asks(
    revision: str, scenario: str, asking: str, suite: Suite, tmp_path: Path
) -> None:
    suite.require_success(["server", "--url", asking], revision, scenario, tmp_path)


@pytest.mark.parametrize(("revision", "scenario"), each(ORDINARY, REVISIONS))
def test_the_suite_does_not_notice_handraise_in_a_server_that_never_asks(
    revision: str, scenario: str, ordinary: str, suite: Suite, tmp_path: Path
) -> None:
    suite.require_success(["server", "--url", ordinary], revision, scenario, tmp_path)


@pytest.fixture(scope="module")
def lowlevel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if MCP > 1:
        pytest.skip("written for mcp 1.x")
    with serving("lowlevel", tmp_path_factory.mktemp("lowlevel") / "log") as url:
        yield f"{url}/"


@pytest.mark.parametrize("scenario", LOWLEVEL)
def test_the_suite_does_not_notice_handraise_in_a_lowlevel_server(
    scenario: str, lowlevel: str, suite: Suite, tmp_path: Path
) -> None:
    suite.require_success(["server", "--url", lowlevel], "2025-11-25", scenario, tmp_path)
