"""`handraise design`, as an author calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.server.peers import http_server
from typer.testing import CliRunner

from handraise.cli.app import app
from handraise.lint import lint_text

ROOT = Path(__file__).parents[2]


def design(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["design", *words])
    return result.exit_code, result.output


@pytest.mark.shows("U6")
def test_a_function_gets_its_question() -> None:
    status, said = design("tests.design.project:delete_note")
    assert status == 0
    assert said.startswith("delete_note: ask, with a form\n")
    assert "no answer  Does nothing;" in said


def test_only_the_code_can_be_printed() -> None:
    status, code = design("tests.design.project:tidy", "--code")
    assert status == 0
    assert lint_text(code) == []
    assert "async def tidy_up(scope: str, dry: bool = False) -> str:" in code


@pytest.mark.shows("U5")
def test_a_refusal_says_why_and_ends_with_one() -> None:
    status, said = design("tests.design.project:remove_one", "--json")
    assert status == 1
    assert json.loads(said)["why"] == "loop"
    assert design("tests.design.project:notes_drop", "--code")[0] == 1


def test_wrong_use_is_explained() -> None:
    for words in ([], ["a:b", "--tool", "x"], ["nowhere:at_all"], ["tests.design.project"]):
        status, said = design(*words)
        assert status == 2, said
        assert "Error" in said


@pytest.mark.slow
@pytest.mark.shows("U6")
def test_a_tool_of_a_server_gets_its_question() -> None:
    serve = "from tests.design.project import server; server.run()"
    command = [sys.executable, "-c", "from handraise.cli import main; main()", "design"]
    behind = ["--", sys.executable, "-c", serve]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *words, *behind], cwd=ROOT, capture_output=True, text=True, timeout=60
        )

    listed = run("--tool", "tidy-up", "--json")
    assert listed.returncode == 0, listed.stderr
    assert json.loads(listed.stdout)["kind"] == "confirm"
    missing = run("--tool", "nothing")
    assert missing.returncode == 2
    assert "it has: delete_note, tidy-up, notes_drop" in " ".join(missing.stderr.replace("│", "").split())


@pytest.mark.slow
@pytest.mark.shows("U6")
def test_a_tool_of_a_server_over_http_gets_its_question() -> None:
    with http_server() as url:
        status, said = design("--tool", "quiet", "--url", url, "--json")
        assert (status, json.loads(said)["ask"]) == (1, False)
        assert design("--tool", "nothing", "--url", url)[0] == 2
    assert design("--tool", "quiet", "--url", url)[0] == 3, "nobody is there any more"
