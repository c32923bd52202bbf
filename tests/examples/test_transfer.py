"""The transfer example does what it says, in the words that it prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "transfer.py"


@pytest.mark.slow
def test_the_money_moves_once_on_every_revision_and_not_so_with_the_sdk_alone() -> None:
    """By way of the file with the SDK's versions; the README's console runs the other."""
    run = [sys.executable, "-W", "error", str(EXAMPLE.with_name("comparison.py"))]
    ran = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stderr == ""
    rows = {line[:26].strip(): line[26:].split(maxsplit=2) for line in ran.stdout.splitlines() if line}
    assert rows[""] == ["2025-06-18", "2025-11-25", "2026-07-28"]
    assert rows["handraise, ask"] == ["once", "once", "once"]
    in_the_body, resolved, clock = (
        rows["mcp, ctx.elicit"],
        rows["mcp, Resolve"],
        rows["mcp, Resolve, with clock"],
    )
    assert in_the_body == ["once", "once", "never: the call fails, nobody was asked"]
    assert resolved == ["once", "once", "twice"]
    assert clock == ["once", "once", "never: the call fails, the person was asked 10 times"]


def test_the_tool_that_people_copy_is_short() -> None:
    code = [line for line in EXAMPLE.read_text().splitlines() if line.strip()]
    assert len(code) < 40
