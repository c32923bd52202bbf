"""`handraise gateway install` as a person meets it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.gateway.clients.samples import VS_CODE
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


def test_it_is_written_and_undone(file: Path) -> None:
    assert run(file, "--yes")[0] == 0
    assert "gateway" in file.read_text()
    assert run(file, "--yes", "--undo")[0] == 0
    assert file.read_text() == VS_CODE
    assert "Nothing is to do." in run(file, "--yes", "--undo")[1]


def test_an_unknown_client_is_told_which_are_known(file: Path) -> None:
    done = CliRunner().invoke(app, ["gateway", "install", "--client", "emacs"])
    assert done.exit_code == 2
    assert "claude-desktop" in done.output
