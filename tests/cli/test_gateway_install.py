"""`handraise gateway install` as a person meets it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from tests.command import HANDRAISE
from tests.gateway.clients.samples import GOOSE, VS_CODE
from tests.gateway.sides import at_a_terminal
from typer.testing import CliRunner

from handraise.cli.app import app

LONG = "x" * 5000


def run(file: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["gateway", "install", "--client", "vscode", "--file", str(file), *words])
    return done.exit_code, done.output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mcp.json"
    path.write_text(VS_CODE, encoding="utf-8")
    return path


def test_every_word_of_a_command_is_shown(file: Path) -> None:
    file.write_text(VS_CODE.replace("--rm", LONG))
    assert LONG in run(file, "--dry-run")[1]


def test_nothing_is_hidden_in_a_command(file: Path) -> None:
    file.write_text(VS_CODE.replace("--rm", "a\\u202eb\\u001b[2J"))
    shown = run(file, "--dry-run")[1]
    assert "⟨U+202E⟩" in shown
    assert "\x1b" not in shown


def test_a_dry_run_changes_nothing(file: Path) -> None:
    status, shown = run(file, "--dry-run")
    assert (status, file.read_text()) == (0, VS_CODE)
    assert "gateway --name github -- docker run" in shown
    assert list(file.parent.iterdir()) == [file]


def test_without_a_person_who_agrees_nothing_is_written(file: Path) -> None:
    status, shown = run(file)
    assert (status, file.read_text()) == (2, VS_CODE)
    assert "--yes" in shown


def test_a_client_without_a_file_is_told_what_to_do_first(tmp_path: Path) -> None:
    status, shown = run(tmp_path / "none.json")
    assert status == 2
    assert "Add a server in VS Code first" in shown
    assert "--file" in shown
    assert list(tmp_path.iterdir()) == []


def test_it_is_written_and_undone(file: Path) -> None:
    assert run(file, "--yes")[0] == 0
    assert "gateway" in file.read_text()
    assert run(file, "--yes", "--undo")[0] == 0
    assert file.read_text() == VS_CODE
    assert "Nothing is to do." in run(file, "--yes", "--undo")[1]


@pytest.mark.slow
def test_a_person_at_a_terminal_is_asked_before_anything_is_written(file: Path) -> None:
    command = [*HANDRAISE, "gateway", "install", "--client", "vscode", "--file", str(file)]
    around = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "80"}
    shown = at_a_terminal(command, around, [("Write this? [y/N]:", "")])
    assert "Nothing was changed." in shown
    assert file.read_text() == VS_CODE
    shown = at_a_terminal(command, around, [("Write this? [y/N]:", "y")])
    assert "gateway --name github -- docker run -i --rm -e TOKEN ghcr.io/github/github-mcp-server" in shown
    assert list(file.parent.iterdir()) == [file], "the copy is not beside it, where a repository may be"
    found = re.search(r"The file as it was: (\S+\.backup)", shown.replace("\r\n", ""))
    assert found is not None
    backup = Path(found[1])
    assert backup.read_text() == VS_CODE
    assert "gateway" in file.read_text()


def test_what_a_project_brings_along_gets_a_command_that_others_have_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    project = ["gateway", "install", "--client", "claude-code", "--project", "--yes"]
    nothing = CliRunner().invoke(app, project)
    assert nothing.exit_code == 2
    assert ".mcp.json" in nothing.output
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"]}}}')
    assert CliRunner().invoke(app, [*project, "--server", "a"]).exit_code == 0
    written = '{"command": "handraise", "args": ["gateway", "--name", "a", "--", "npx", "-y", "x"]}'
    assert written in (tmp_path / ".mcp.json").read_text()
    assert CliRunner().invoke(app, [*project, "--undo"]).exit_code == 0
    assert "gateway" not in (tmp_path / ".mcp.json").read_text()
    assert list(tmp_path.iterdir()) == [tmp_path / ".mcp.json"]


def test_a_restart_is_advised_for_the_clients_own_file_only(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Restart" not in run(file, "--yes")[1]
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    own = tmp_path / "opencode" / "opencode.jsonc"
    own.parent.mkdir()
    own.write_text('{"mcp": {"a": {"type": "local", "command": ["npx"]}}} // mine')
    done = CliRunner().invoke(app, ["gateway", "install", "--client", "opencode", "--yes"])
    assert "Restart opencode" in done.output
    assert "gateway" in own.read_text()


def test_every_file_that_the_client_reads_is_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "opencode"
    folder.mkdir()
    files = [folder / "opencode.json", folder / "opencode.jsonc"]
    for file, name in zip(files, "ab", strict=True):
        file.write_text(f'{{"mcp": {{"{name}": {{"type": "local", "command": ["npx"]}}}}}}')
    (folder / "config.json").write_text("{}")
    install = ["gateway", "install", "--client", "opencode", "--yes"]
    assert CliRunner().invoke(app, [*install, "--server", "b"]).exit_code == 0
    assert ["gateway" in file.read_text() for file in files] == [False, True]
    assert CliRunner().invoke(app, install).exit_code == 0
    assert ["gateway" in file.read_text() for file in files] == [True, True]
    assert (folder / "config.json").read_text() == "{}"


def test_what_is_not_rewritten_is_told_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(GOOSE)
    done = CliRunner().invoke(app, ["gateway", "install", "--client", "goose", "--file", str(path)])
    assert done.exit_code == 0
    assert '    write: cmd: "' in done.output
    assert '           args: ["gateway", "--name", "notes", "--", "npx"' in done.output
    assert path.read_text() == GOOSE


def test_an_unknown_client_is_told_which_are_known(file: Path) -> None:
    done = CliRunner().invoke(app, ["gateway", "install", "--client", "emacs"])
    assert done.exit_code == 2
    assert "claude-desktop" in done.output
