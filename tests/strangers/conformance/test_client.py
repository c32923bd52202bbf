"""The official conformance suite meets a client made with the kit for hosts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.strangers.conformance.suite import HERE, Suite

pytestmark = pytest.mark.stranger

SCENARIOS = [
    ("2025-11-25", "elicitation-sep1034-client-defaults"),
    ("2025-11-25", "initialize"),
    ("2025-11-25", "tools_call"),
    ("2026-07-28", "sep-2322-client-request-state"),
    ("2026-07-28", "request-metadata"),
    ("2026-07-28", "tools_call"),
]


@pytest.mark.shows("N1", "F4")
@pytest.mark.parametrize(("revision", "scenario"), SCENARIOS)
def test_the_suite_is_content_with_a_client_of_ours(
    revision: str, scenario: str, programs: Path, suite: Suite, tmp_path: Path
) -> None:
    command = f"{programs / 'python'} {HERE / 'client.py'}"
    suite.require_success(
        ["client", "--command", command, "--timeout", "60000"], revision, scenario, tmp_path
    )
