"""`handraise policy why --tool` tells which guard would ask before a call, and why the others do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from handraise.cli.app import app
from handraise.policy import load_settings
from handraise.policy.files import parse_settings

pytestmark = pytest.mark.shows("U3", "U3b")

GUARDS = """
[guards.mails]
tools = ["send_*"]
hint = "any"
message = "Send {count} mails?"
count = "to"
above = 2
typed = "count"
cooldown = 60

[guards.etc]
servers = ["files"]
tools = ["*_file"]
hint = "any"
arguments = ["path=/etc/*"]

[guards.rest]
hint = "destructive"
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HANDRAISE_CONFIG", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "handraise.toml").write_text(GUARDS, encoding="utf-8")
    return tmp_path


MAILS = "Your rule 'mails' asks before a server calls send_mail(...).\n\n"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["policy", *arguments])


def why(*arguments: str) -> Any:
    return json.loads(run("why", *arguments, "--json").stdout)


def test_the_guard_that_asks_is_named_with_its_question_and_the_others_say_why_not() -> None:
    found = run("why", "--tool", "read_file", "--server", "files", '{"path": "/etc/hosts"}')
    assert found.exit_code == 0
    assert found.stdout.splitlines() == [
        "asks you first, by guards.etc",
        "  | Your rule 'etc' asks before files calls read_file(...).",
        "  |",
        "  | The model wants to call this tool.",
        "  | If you decline: Nothing is done, and the model is told that you said no.",
        "  |",
        "  | Tool: read_file",
        "  | Arguments:",
        "  | - path: /etc/hosts",
        "",
        "Guards, one by one (the first one that asks is put to you):",
        "  guards.mails  pass   It is for other tools.",
        "  guards.etc    ask",
        "  guards.rest   ask",
    ]


def test_hints_servers_and_arguments_make_a_difference() -> None:
    read_only = ("--hints", '{"readOnlyHint": true}')
    found = why("--tool", "read_file", "--server", "notes", *read_only, '{"path": "/etc/hosts"}')
    assert (found["verdict"], found["question"]) == ("allow", None)
    assert [rule["reasons"] for rule in found["rules"]] == [
        ["It is for other tools."],
        ["It is for other servers."],
        ["It is for tools that may destroy something, and this one says otherwise."],
    ]
    found = why("--tool", "read_file", "--server", "files", *read_only, '{"path": "/home/a"}')
    assert found["rules"][1]["reasons"] == ["It is for other values of path."]
    assert why("--tool", "read_file", "{}")["decided_by"] == ["guards.rest"]


def test_a_count_is_taken_from_the_arguments() -> None:
    found = why("--tool", "send_mail", "--hints", '{"destructiveHint": false}', '{"to": ["a", "b"]}')
    assert found["verdict"] == "allow"
    assert found["rules"][0]["reasons"] == ["It asks above 2, and this is about 2."]
    assert why("--tool", "send_mail", '{"to": ["a", "b", "c"]}')["question"].startswith(
        "Your rule 'mails' asks before a server calls send_mail(...).\n\nSend 3 mails?"
    )
    assert why("--tool", "send_mail", '{"to": "all"}')["question"].startswith(
        MAILS + "Send an unknown number of mails?"
    )


def test_without_guards_it_says_so(home: Path) -> None:
    (home / "handraise.toml").unlink()
    assert run("why", "--tool", "x", "{}").stdout == (
        "runs without a question\n  No guard of yours is for this call.\n\n"
        "There are no guards in your configuration.\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("--tool", "x", "[1]"),
        ("--tool", "x", "{"),
        ("--tool", "x", "{}", "--hints", "[]"),
        ("{}", "--hints", "{}"),
    ],
)
def test_wrong_use_is_told(arguments: tuple[str, ...]) -> None:
    assert run("why", *arguments).exit_code == 2


def test_nothing_of_a_call_reaches_the_terminal_raw() -> None:
    shown = run("why", "--tool", "x\x1b[31m", json.dumps({"path\x1b[2J": "\u202egnp\x07"})).stdout
    assert shown.isascii() or all(c.isprintable() or c == "\n" for c in shown)


def test_show_prints_guards_so_that_they_can_be_read_again() -> None:
    assert parse_settings(run("show").stdout).guards == load_settings().guards
    shown = json.loads(run("show", "--json").stdout)["settings"]
    assert shown['guards."mails".above'] == 2
    assert 'guards."rest".above' not in shown


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[guards.a]", "guards.a: a guard needs a setting at least"),
        ("[guards]\na = 1", "guards.a: this is a table, not a value"),
        ('[guards.a]\nhint = "all"', 'guards.a.hint: use "destructive", "writes" or "any"'),
        ("[guards.a]\ntools = 3", "guards.a.tools: use a list of names or patterns"),
        ('[guards.a]\narguments = ["path"]', "guards.a.arguments: use a list of arguments with patterns"),
        ("[guards.a]\nabove = 3", "guards.a.above: this needs count, the argument to count by"),
        ('[guards.a]\ntyped = "count"', "guards.a.typed: this needs count"),
        ('[guards.a]\nmessage = "Delete {count}?"', "guards.a.message: this needs count"),
        ('[guards.a]\ncount = "to"\nabove = -1', "guards.a.above: use a whole number from 0"),
        ('[guards.a]\ncount = "to"\nabove = true', "guards.a.above: use a whole number from 0"),
        ("[guards.a]\ncooldown = -1", "guards.a.cooldown: use a number of seconds from 0"),
        ("[guards.a]\ncouldown = 1", "did you mean cooldown?"),
    ],
)
def test_a_guard_that_cannot_be_meant_is_told_with_its_line(home: Path, text: str, told: str) -> None:
    (home / "handraise.toml").write_text(text, encoding="utf-8")
    for command in (("show",), ("why", "--tool", "x", "{}")):
        found = run(*command)
        assert found.exit_code == 2
        assert told in found.stderr
        assert found.stdout == ""


@pytest.mark.shows("W9b")
def test_why_tells_whether_a_guard_needs_a_passkey(home: Path) -> None:
    arguments = ("--tool", "remove", "{}")
    assert why(*arguments)["passkey"] is None
    (home / "handraise.toml").write_text(GUARDS + '[desk]\npasskey = ["guards"]\n', encoding="utf-8")
    assert why(*arguments)["passkey"] == "A guard asks, so accepting needs your passkey."
    assert "needs your passkey" in run("why", *arguments).stdout
