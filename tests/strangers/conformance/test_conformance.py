"""The official conformance suite meets servers that Handraise is installed in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.strangers.conformance.suite import ORDINARY, each, require_success, serving

pytestmark = pytest.mark.stranger

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
    with serving("server.py", log) as url:
        yield url
    said = log.read_text(encoding="utf-8")
    assert "Traceback" not in said, said  # a tool that crashes also gives content, and the suite may like it


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving("ordinary.py", tmp_path_factory.mktemp("ordinary") / "log") as url:
        yield url


@pytest.mark.parametrize(("revision", "scenario"), each(ASKING))
def test_the_suite_is_content_with_a_server_that_asks(
    revision: str, scenario: str, asking: str, tmp_path: Path
) -> None:
    require_success(["server", "--url", asking], revision, scenario, tmp_path)


@pytest.mark.parametrize(("revision", "scenario"), each(ORDINARY))
def test_the_suite_does_not_notice_handraise_in_a_server_that_never_asks(
    revision: str, scenario: str, ordinary: str, tmp_path: Path
) -> None:
    require_success(["server", "--url", ordinary], revision, scenario, tmp_path)
