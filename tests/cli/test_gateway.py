"""What whoever starts a gateway over HTTP reads first."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from handraise.cli.app import app
from handraise.cli.gateway import announcement
from handraise.gateway.options import Desk, Options
from handraise.gateway.people import PeopleFile
from handraise.gateway.shared_desk import Invitations
from handraise.questions import Person


def test_a_gateway_over_http_says_where_clients_connect_to_what_and_where_people_answer() -> None:
    assert announcement("127.0.0.1:8765", ["notes", "files"], Options()) == [
        "The gateway is running; Ctrl+C ends it.",
        "  clients    http://127.0.0.1:8765/mcp",
        "  servers    notes, files",
        "  questions  in the client; where it does not ask, at the desk: handraise inbox",
    ]


@pytest.mark.parametrize(
    ("desk", "questions"),
    [("always", "at the desk: handraise inbox"), ("none", "in the client, and nowhere else")],
)
def test_it_says_who_is_asked_where_as_it_was_chosen(desk: Desk, questions: str) -> None:
    assert announcement("127.0.0.1:1", ["notes"], Options(desk=desk))[-1] == f"  questions  {questions}"


def test_a_shared_gateway_names_the_address_that_people_see() -> None:
    lines = announcement("0.0.0.0:8765", ["notes"], Options(), "https://gateway.example.com")
    assert lines[1] == "  clients    https://gateway.example.com/mcp, served at 0.0.0.0:8765"
    assert lines[3].endswith("at the desk: https://gateway.example.com/")


def test_a_name_with_control_characters_stays_within_its_line() -> None:
    line = announcement("127.0.0.1:1", ["no\ntes\x1b[2J"], Options())[2]
    assert line.isprintable()


ADDRESS = ("--public-url", "https://gate.example.com")


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["gateway", "people", *words])
    return done.exit_code, done.output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.json"
    assert run("add", "ann", "--file", str(path))[0] == 0
    return path


@pytest.mark.parametrize("words", [("remove", "bob"), ("link", "bob", *ADDRESS)], ids=["remove", "link"])
def test_nobody_is_told_from_those_who_are_there(file: Path, words: tuple[str, ...]) -> None:
    before = file.read_bytes()
    status, shown = run(*words, "--file", str(file))
    assert (status, file.read_bytes()) == (2, before)
    assert "nobody in it is called 'bob'; there is ann" in shown


def test_the_last_one_can_be_removed_and_then_there_is_nobody(file: Path) -> None:
    assert run("remove", "ann", "--file", str(file))[0] == 0
    assert "there is nobody in it yet" in run("remove", "ann", "--file", str(file))[1]


@pytest.mark.parametrize("words", [("remove", "ann"), ("link", "ann", *ADDRESS)], ids=["remove", "link"])
def test_without_the_file_one_is_told_what_makes_it(tmp_path: Path, words: tuple[str, ...]) -> None:
    status, shown = run(*words, "--file", str(tmp_path / "none.json"))
    assert status == 2
    assert "handraise gateway people add NAME --file" in shown
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    status, shown = run("add", "ann", "--file", str(tmp_path / "none" / "people.json"))
    assert status == 2
    assert "cannot be written: No such file or directory" in shown


def test_its_help_has_examples() -> None:
    shown = run("--help")[1]
    assert "handraise gateway people add alice --file people.json" in shown
    assert "Exit status: 0" in shown


@pytest.mark.shows("W9b")
def test_a_link_lets_a_person_add_a_passkey(file: Path) -> None:
    lets_add: list[bool] = []
    clock = [time.time() - 1]
    invitations = Invitations(PeopleFile(file), lambda: clock[0])

    def invite(person: Person, passkey: bool) -> str:
        lets_add.append(passkey)
        return person.subject

    for more in ((), ("--passkey",)):
        status, link = run("link", "ann", *more, "--file", str(file), *ADDRESS)
        assert status == 0
        clock[0] = time.time() + 1
        word = link.strip().removeprefix("https://gate.example.com/enter/")
        assert invitations.admit(word, invite) == "ann"
    assert lets_add == [False, True]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "name a server"),
        (["--url", "http://127.0.0.1:1/", "--", "true"], "one of them"),
        (["--config", "x.json", "--", "true"], "one of them"),
        (["--url", "http://127.0.0.1:1/", "--config", "x.json"], "one of them"),
        (["--client-id", "me", "--", "true"], "goes with --url"),
        (["--client-id", "me", "--config", "x.json"], "goes with --url"),
        (["--env", "A=b", "--url", "http://127.0.0.1:1/"], "goes with a command"),
        (["--people", "p.json", "--", "true"], "the address at which people reach the gateway"),
        (
            ["--issuer", "https://id.example.com", "--", "true"],
            "the address at which people reach the gateway",
        ),
        (["--people", "p.json", "--public-url", "https://g.example.com", "--", "true"], "come over HTTP"),
        (["--http", "127.0.0.1:0", "--stdio", "--", "true"], "not both"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_starts(words: list[str], why: str) -> None:
    options, command = (words[:-2], ("true",)) if "--" in words else (words, ())
    done = CliRunner().invoke(app, ["gateway", *options], obj=command)
    assert done.exit_code == 2
    assert why in " ".join(done.output.replace("│", " ").split())
