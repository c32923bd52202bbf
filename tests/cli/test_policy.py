"""`handraise policy` shows, explains, and keeps a person's own rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from handraise.cli.app import app
from handraise.policy import load_settings
from handraise.policy.files import parse_settings
from handraise.policy.settings import SETTINGS, Settings

PASSWORD = {
    "message": "Log in.",
    "requestedSchema": {"type": "object", "properties": {"password": {"type": "string"}}},
}
SIZE = {
    "message": "Which?",
    "requestedSchema": {"type": "object", "properties": {"size": {"type": "string"}}},
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HANDRAISE_CONFIG", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["policy", *arguments])


def told(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json").stdout)


def test_show_prints_a_configuration_file_that_says_what_holds_now(home: Path) -> None:
    (home / "handraise.toml").write_text(
        'preset = "strict"\nlinks.only = ["a.example"]\n[servers."a.b"]\nasking = "mute"\nlimits.per_call = 3\n'
    )
    printed = run("show").stdout
    assert parse_settings(printed) == load_settings()
    assert all(setting.meaning in printed for setting in SETTINGS if "NAME" not in setting.key)
    assert printed.splitlines()[0] == "# From handraise.toml"


def test_show_says_when_there_is_no_file() -> None:
    assert run("show").stdout.startswith("# No configuration file")
    shown = told("show")
    assert (shown["file"], shown["unsafe"], shown["settings"]["limits.per_call"]) == (None, [], 10)
    assert parse_settings(run("show").stdout) == Settings()


def test_a_wrong_file_is_told_and_changes_nothing(home: Path) -> None:
    (home / "handraise.toml").write_text("limits.per_cal = 3\n")
    for command in (["show"], ["list"], ["why", json.dumps(SIZE)]):
        result = run(*command)
        assert result.exit_code == 2
        assert (
            "handraise.toml:1: limits.per_cal: there is no such setting; did you mean per_call?"
            in result.stderr
        )
        assert result.stdout == ""


def test_why_names_the_rule_that_decided_and_every_reason() -> None:
    result = run("why", json.dumps(PASSWORD | {"message": "Log in at https://a.example"}))
    assert result.exit_code == 1
    assert result.stdout.splitlines()[:3] == [
        "refuse, by forms.credentials",
        "  The field 'password' asks for a password.",
        "  The form's text contains a web address.",
    ]
    assert (
        "  forms.urls_in_text   warn    The form's text contains a web address." in result.stdout.splitlines()
    )


def test_why_reads_a_file_and_allows_with_status_zero(home: Path) -> None:
    (home / "question.json").write_text(json.dumps(SIZE))
    result = run("why", "question.json")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "allow: no rule objects")


def test_why_knows_links_and_where_the_server_is() -> None:
    link = json.dumps({"mode": "url", "message": "m", "url": "http://127.0.0.1:1/", "elicitationId": "1"})
    assert run("why", link, "--target", "python notes.py").exit_code == 0
    report = told("why", link, "--target", "https://notes.example/mcp")
    assert (report["verdict"], report["decided_by"]) == ("refuse", ["links.dangerous"])


def test_why_refuses_what_the_protocol_does_not_allow() -> None:
    report = told("why", '{"message": 1}')
    assert (report["verdict"], report["decided_by"]) == ("refuse", ["protocol.message"])


@pytest.mark.shows("D7")
@pytest.mark.parametrize("kind", ["string", "object"])
def test_nothing_of_the_question_reaches_the_terminal_raw(kind: str) -> None:
    schema = {"type": "object", "properties": {"\x07password": {"type": kind}}}
    result = run("why", json.dumps({"message": "\u202e\x07", "requestedSchema": schema}))
    assert result.exit_code == 1
    assert result.output.replace("\n", "").isprintable()


def test_an_unsafe_switch_is_warned_of(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "mine.toml").write_text("forms.unsafe_credentials = true")
    monkeypatch.setenv("HANDRAISE_CONFIG", "mine.toml")
    result = run("why", json.dumps(PASSWORD))
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: forms.unsafe_credentials is on")
    assert told("show")["unsafe"] == ["forms.unsafe_credentials"]


@pytest.mark.shows("D5")
@pytest.mark.parametrize(("verb", "verdict"), [("block", "refuse"), ("mute", "refuse"), ("allow", "allow")])
def test_a_rule_is_made_listed_and_taken_back(verb: str, verdict: str) -> None:
    assert run(verb, "notes").exit_code == 0
    assert told("list")["own"] == [{"server": "notes", "asking": verb, "until": None}]
    assert told("why", json.dumps(SIZE), "--server", "notes")["verdict"] == verdict
    assert told("why", json.dumps(SIZE), "--server", "other")["verdict"] == "allow"
    assert told("undo")["undone"]["asking"] == verb
    assert told("list")["own"] == []


@pytest.mark.shows("D5")
def test_a_rule_for_the_session_says_when_it_ends() -> None:
    assert told("block", "notes", "--session")["until"] is not None
    assert "(until " in run("list").stdout


def test_undo_takes_back_the_latest_or_the_one_about_a_server_and_says_when_there_is_none() -> None:
    run("block", "notes")
    run("mute", "shop")
    assert "notes is blocked" in run("undo", "notes").stdout
    assert "shop is muted" in run("undo").stdout
    result = run("undo")
    told = "There is no rule of yours to take back; `handraise policy list` shows them.\n"
    assert (result.exit_code, result.stderr) == (1, told)


def test_list_tells_the_files_rules_apart_from_ones_own(home: Path) -> None:
    (home / "handraise.toml").write_text('default = "block"\nservers.notes.asking = "allow"')
    run("mute", "shop")
    text = run("list").stdout
    assert "Your own rules:\n  shop is muted" in text
    assert "handraise.toml:\n  notes may ask." in text
    assert text.endswith(
        "Any other server is blocked: its questions are cancelled, and the desk shows that it tried.\n"
    )


def test_the_configuration_file_of_the_user_is_never_written(home: Path) -> None:
    file = home / "handraise.toml"
    file.write_text("# mine\n")
    run("block", "notes")
    run("undo")
    assert file.read_text() == "# mine\n"


@pytest.mark.parametrize("name", ["", " ", "\x1b[31m", "x" * 201])
def test_a_name_that_is_none_is_wrong_use(name: str) -> None:
    assert run("block", name).exit_code == 2


def test_damaged_rules_are_told(home: Path) -> None:
    run("block", "notes")
    [file] = home.rglob("rules.json")
    file.write_text("{")
    for command in (["list"], ["block", "a"], ["undo"], ["why", json.dumps(SIZE)]):
        result = run(*command)
        assert result.exit_code == 2
        assert "your rules cannot be read" in result.stderr


@pytest.mark.parametrize(
    "command", [[], ["show"], ["why"], ["block"], ["mute"], ["allow"], ["list"], ["undo"]]
)
def test_every_command_has_help_that_teaches(command: list[str]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Examples:" in result.stdout or not command


@pytest.mark.shows("W9b")
def test_why_tells_whether_a_passkey_is_needed(home: Path) -> None:
    question = json.dumps(
        {
            "message": "Go?",
            "requestedSchema": {"type": "object", "properties": {"answer": {"type": "boolean"}}},
        }
    )
    assert told("why", question)["passkey"] is None
    (home / "handraise.toml").write_text('[desk]\npasskey = ["guards", "shared"]\n', encoding="utf-8")
    needs = "A guard asks, so accepting needs your passkey."
    report = told("why", question)
    assert report["passkey"] == needs
    assert {"rule": "desk.passkey", "verdict": "allow", "reasons": [needs]} in report["rules"]
    assert needs in run("why", question).stdout
    assert told("why", json.dumps(SIZE))["passkey"] is None
    assert "shared" in told("why", json.dumps(SIZE), "--shared")["passkey"]
