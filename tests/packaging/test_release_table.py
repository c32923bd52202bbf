"""The table of `make releases`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.releases.table import main

CASE = '<testcase classname="{}" name="{}">{}</testcase>'
ASKS, SERVER = "tests.releases.test_scenarios", "tests.server.test_ask"


def write(folder: Path, release: str, *cases: tuple[str, str, str]) -> None:
    (folder / release).mkdir()
    told = "".join(CASE.format(*case) for case in cases)
    (folder / release / "results.xml").write_text(f"<testsuites><testsuite>{told}</testsuite></testsuites>")


def test_a_row_is_a_scenario_and_a_column_a_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "mcp-1.23.3", (ASKS, "test_a_form[own]", ""), (ASKS, "test_a_form[low]", ""))
    write(tmp_path, "mcp-1.30.0", (ASKS, "test_a_form[own]", "<skipped/>"), (SERVER, "test_it", ""))
    assert main(str(tmp_path), "mcp-1.23.3", "mcp-1.30.0") == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["mcp", "1.23.3", "1.30.0"],
        ["FastMCP", "-", "2.14.7"],
        ["server:", "a", "form", "2", "-"],
        ["other", "tests", "of", "the", "server", "-", "1"],
    ]


@pytest.mark.parametrize("told", ["<failure/>", "<error/>"])
def test_a_failure_is_seen_and_decides_the_status(
    told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "mcp-1.23.3", (ASKS, "test_a_form[own]", told), (ASKS, "test_a_form[low]", ""))
    assert main(str(tmp_path), "mcp-1.23.3") == 1
    assert "FAILED" in capsys.readouterr().out


def test_a_release_without_results_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(str(tmp_path), "mcp-1.23.3") == 1
    assert "no results: mcp-1.23.3" in capsys.readouterr().out
