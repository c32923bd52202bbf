"""`handraise lint`, as a person or a CI job calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from handraise.cli.app import app


def lint(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["lint", *words])
    return result.exit_code, result.output


@pytest.fixture
def server(tmp_path: Path) -> str:
    file = tmp_path / "server.py"
    file.write_text('async def a(name):\n    await ask.confirm(f"Delete {name}?")\n')
    return str(file)


def test_the_exit_status_tells_a_ci_job(server: str, tmp_path: Path) -> None:
    assert lint(server)[0] == 1
    assert lint(server, "--ignore", "hr203")[0] == 0
    assert lint(server, "--select", "HR1,HR5") == (0, "Nothing found.\n")
    assert lint()[0] == 2
    assert lint(str(tmp_path / "nowhere"))[0] == 2
    assert lint(server, "--select", "X1")[0] == 2


def test_it_prints_json_and_sarif(server: str) -> None:
    assert json.loads(lint(server, "--json")[1])["findings"][0]["code"] == "HR203"
    assert json.loads(lint(server, "--format", "sarif")[1])["version"] == "2.1.0"


def test_it_lists_and_teaches_its_rules() -> None:
    assert "HR402  effect that happens twice" in lint("--rules")[1]
    status, said = lint("--explain", "hr402")
    assert status == 0
    assert "Wrong:" in said
    assert "To fix it:" in said
    assert lint("--explain", "HR999")[0] == 2


def test_limits_come_from_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "server.py"
    file.write_text('async def a():\n    (await ask.choose("Which?", ["a", "b", "c"])).or_stop()\n')
    assert lint(str(file), "--select", "HR104")[0] == 0
    (tmp_path / "own.toml").write_text("[forms]\noptions = 2\n")
    monkeypatch.setenv("HANDRAISE_CONFIG", str(tmp_path / "own.toml"))
    status, said = lint(str(file), "--select", "HR104")
    assert (status, "There are 3 options; 2 are allowed." in said) == (1, True)
