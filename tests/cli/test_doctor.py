"""`handraise doctor` tells what works, what is missing and what is broken, and the next step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from handraise.cli.app import app
from handraise.cli.doctor import _desks
from handraise.urls.open import Opened, open_file

KEY = "00" * 32


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("HANDRAISE_CONFIG", "HANDRAISE_STORE", "HANDRAISE_LEDGER"):
        monkeypatch.delenv(name, raising=False)


def examined(code: int = 0) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["doctor", "--json"])
    assert done.exit_code == code, done.output
    return {finding["what"]: finding for finding in json.loads(done.output)}


def test_an_ordinary_environment_works() -> None:
    found = examined()
    assert {found[name]["state"] for name in ("python", "mcp", "configuration", "ledger", "store")} == {
        "works"
    }


def test_the_text_says_the_next_step() -> None:
    done = CliRunner().invoke(app, ["doctor"])
    assert "-> handraise vault new-key" in done.output
    assert done.output.endswith("Everything that is needed works.\n")


def test_nothing_is_made_by_looking(tmp_path: Path) -> None:
    examined()
    assert not list(tmp_path.iterdir())


def test_a_configuration_that_cannot_be_used_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "own.toml"
    file.write_text("[limits]\nper_minute = 'many'\n")
    monkeypatch.setenv("HANDRAISE_CONFIG", str(file))
    assert "own.toml" in examined(1)["configuration"]["said"]


@pytest.mark.slow
def test_a_store_that_cannot_be_reached_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAISE_STORE", "postgresql://127.0.0.1:1/nothing")
    monkeypatch.setenv("HANDRAISE_STORE_KEYS", KEY)
    assert examined(1)["store"]["state"] == "broken"


def test_a_store_that_is_named_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAISE_STORE", str(tmp_path / "notes.db"))
    assert "questions that wait: 0" in examined()["store"]["said"]


def test_a_ledger_in_a_database_is_not_taken_for_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAISE_LEDGER", "postgresql://me:secret@127.0.0.1:1/nothing")
    monkeypatch.delenv("HANDRAISE_STORE_KEYS", raising=False)
    found = examined(1)
    assert "HANDRAISE_STORE_KEYS" in found["ledger"]["said"]
    assert "secret@" not in str(found)


def test_a_ledger_without_a_place_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HANDRAISE_LEDGER", str(tmp_path / "file" / "ledger.db"))
    assert examined(1)["ledger"]["state"] == "broken"


@pytest.mark.parametrize(("display", "opener"), [("", True), (":0", False), (":0", True)])
def test_doctor_says_of_the_browser_what_inbox_meets(
    display: str, opener: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    if opener:
        (programs / "xdg-open").write_text("#!/bin/sh\nexit 0\n")
        (programs / "xdg-open").chmod(0o700)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    opened = isinstance(open_file(tmp_path / "page.html", platform="linux"), Opened)
    assert opened is (opener and bool(display))
    [said] = [each for each in _desks() if each.what == "browser"]
    assert (said.state == "works") is opened
