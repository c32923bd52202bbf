"""The codes that people type: typed as people type, bound to what they are for, and not to be guessed."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.command import HANDRAISE
from tests.desks.web.visitor import Visitor
from tests.gateway.sides import at_a_terminal
from typer.testing import CliRunner

from handraise.access import Access, AccessCheck
from handraise.cli.app import app
from handraise.desks import Queue
from handraise.desks.codes import (
    FREE_TRIES,
    PAUSE,
    AnswerCode,
    DeskCode,
    DeskCodeCheck,
    new_desk_code,
    prove,
    prove_desk_code,
)
from handraise.desks.web import WebDesk
from handraise.errors import SetupError
from handraise.processes import SocketAddress

DECLINE = {"action": "decline"}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.shows("D9")
async def test_the_code_is_right_however_somebody_writes_it() -> None:
    code = AnswerCode()
    for written in (code.shown(), code.shown().lower(), code.shown().replace("-", " ")):
        proof = prove(written, "nonce", "id", DECLINE, False)
        assert await code.check(proof, "nonce", "id", DECLINE, False) == "right"


async def test_letters_that_look_alike_are_read_as_one() -> None:
    assert prove("O1IL", "n", "id", {}, False) == prove("0111", "n", "id", {}, False)


async def test_a_proof_fits_one_visit_and_one_answer_only() -> None:
    code = AnswerCode()
    proof = prove(code.shown(), "nonce", "id", DECLINE, False)
    accept = {"action": "accept", "content": {}}
    assert await code.check(proof, "another visit", "id", DECLINE, False) == "wrong"
    assert await code.check(proof, "nonce", "another", DECLINE, False) == "wrong"
    assert await code.check(proof, "nonce", "id", accept, False) == "wrong"
    assert await code.check(proof, "nonce", "id", DECLINE, True) == "wrong"


async def test_after_some_wrong_ones_most_tries_are_not_looked_at() -> None:
    clock = Clock()
    code = AnswerCode(clock)
    right = prove(code.shown(), "n", "id", DECLINE, False)
    for _ in range(FREE_TRIES):
        assert await code.check("0" * 64, "n", "id", DECLINE, False) == "wrong"
    assert await code.check(right, "n", "id", DECLINE, False) == "wait"
    clock.now += PAUSE
    assert await code.check(right, "n", "id", DECLINE, False) == "right"
    assert await code.check(right, "n", "id", DECLINE, False) == "right", "a right one ends the waiting"


def test_two_processes_have_two_codes_and_neither_is_in_a_log() -> None:
    one, other = AnswerCode(), AnswerCode()
    assert one.shown() != other.shown()
    assert one.shown() not in repr(one)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "handraise" / "desk-code.json"


def load(file: Path) -> DeskCode:
    found = DeskCode.load(file)
    assert found is not None
    return found


@pytest.mark.shows("W9")
def test_the_file_is_private_and_does_not_hold_the_code(file: Path) -> None:
    code = new_desk_code(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert code.replace("-", "") not in file.read_text()
    assert load(file).is_it(code.lower().replace("-", " "))  # however a person writes it
    assert not load(file).is_it(new_desk_code(file.with_name("another")))


@pytest.mark.shows("W9")
def test_a_file_that_others_can_read_or_that_is_broken_is_refused_with_what_to_do(file: Path) -> None:
    new_desk_code(file)
    file.chmod(0o644)
    with pytest.raises(SetupError, match="chmod 600"):
        DeskCode.load(file)
    file.chmod(0o600)
    file.write_text("{}")
    with pytest.raises(SetupError, match="handraise desk code"):
        DeskCode.load(file)


@pytest.mark.shows("W9")
def test_a_proof_is_good_for_one_desk_and_one_time(file: Path) -> None:
    code = new_desk_code(file)
    check = DeskCodeCheck(file)
    challenge = check.challenge()
    signature = prove_desk_code(code, load(file).salt, challenge, "1.desk")
    assert not check.accepts_proof(signature, "another challenge", "1.desk")
    assert check.accepts_proof(signature, challenge, "1.desk")
    assert not check.accepts_proof(signature, challenge, "1.desk")
    relayed = (
        check.challenge()
    )  # a program that pretends to be a desk passes on the challenge of the real one
    signature = prove_desk_code(code, load(file).salt, relayed, "pretender.desk")
    assert not check.accepts_proof(signature, relayed, "1.desk")


@pytest.mark.shows("W9")
def test_guessing_is_slowed_down(file: Path) -> None:
    code, clock = new_desk_code(file), Clock()
    check = DeskCodeCheck(file, clock)
    assert not any(check.accepts("0000-0000") for _ in range(FREE_TRIES))
    assert not check.accepts(code)
    clock.now += PAUSE
    assert check.accepts(code)


@pytest.mark.shows("W9")
def test_a_code_and_a_proof_from_before_stay_right(file: Path) -> None:
    """A person's code is older than this version, and the desk's process may be older than the command's."""
    file.parent.mkdir()
    key = "a4d75112196e77e5c388a8efb98781fdda64c9f8db4c4d1c0da3e3617794eed7"
    file.write_text(json.dumps({"salt": "5a" * 16, "public_key": key}))
    file.chmod(0o600)
    assert load(file).is_it("7H3K-9QXA")
    before = "741ea9b22fdb0948b34a6bb802eefd1122cc5fca8205c406d12c5ed9d3577976"
    assert prove("7H3K-9QXA", "nonce", "q", DECLINE, False) == before


@pytest.mark.shows("W9")
@pytest.mark.parametrize(
    "written", ["{", "[]", '{"salt": "x", "public_key": "no hexadecimal digits"}', "\udcff"]
)
def test_a_desk_that_cannot_read_the_code_when_it_starts_lets_nobody_in(file: Path, written: str) -> None:
    file.parent.mkdir()
    file.write_text(written, errors="surrogateescape")
    file.chmod(0o600)
    check = DeskCodeCheck(file, read_once=True)
    code = new_desk_code(file)  # whoever made it came too late
    assert check.load() is None
    assert not check.accepts(code)
    challenge = check.challenge()
    assert not check.accepts_proof(prove_desk_code(code, load(file).salt, challenge, "1"), challenge, "1")


@pytest.mark.shows("W9")
def test_a_challenge_is_good_until_a_hundred_others_were_given_out(file: Path) -> None:
    code = new_desk_code(file)
    check = DeskCodeCheck(file)
    oldest, next_one = check.challenge(), check.challenge()
    for _ in range(99):
        check.challenge()
    salt = load(file).salt
    assert not check.accepts_proof(prove_desk_code(code, salt, oldest, "1"), oldest, "1")
    assert check.accepts_proof(prove_desk_code(code, salt, next_one, "1"), next_one, "1")


class Unknown(AccessCheck):
    """A system that does not tell whose a connection is."""

    known: Access = "unknown"

    def of_connection(self, client: SocketAddress, server: SocketAddress) -> Access:
        return self.known


@pytest.mark.shows("W9")
@pytest.mark.anyio
async def test_the_sign_in_page_asks_for_the_code_and_lets_nobody_in_without_it(file: Path) -> None:
    desk = WebDesk(Queue(), port=7070, access=Unknown(), desk_code=DeskCodeCheck(file))
    path = urlsplit(desk.sign_in_url()).path
    visitor = Visitor(desk)
    assert (await visitor.get(path)).status_code == 403
    assert "Make your desk code first" in visitor.page
    code = new_desk_code(file)
    assert (await visitor.get(path)).status_code == 200
    assert "Your desk code" in visitor.page
    assert (await visitor.post(path)).status_code == 200
    assert (await visitor.post(path, {"code": "0000-0000"})).status_code == 403
    assert "That is not your desk code" in visitor.page
    assert (await visitor.post(path, {"code": code})).status_code == 303


@pytest.mark.shows("W9")
@pytest.mark.anyio
@pytest.mark.parametrize("known", ["client", "another_user"])
async def test_a_program_that_is_known_as_a_wrong_one_gets_no_page_at_all(file: Path, known: Access) -> None:
    code = new_desk_code(file)

    class Known(AccessCheck):
        def of_connection(self, client: SocketAddress, server: SocketAddress) -> Access:
            return known

    desk = WebDesk(Queue(), port=7070, access=Known(), desk_code=DeskCodeCheck(file))
    visitor = Visitor(desk)
    path = urlsplit(desk.sign_in_url()).path
    assert (await visitor.post(path, {"code": code})).status_code == 403
    for page in (path, "/static/handraise.css", "/anything/"):
        assert (await visitor.get(page)).status_code == 403


@pytest.mark.shows("W9")
@pytest.mark.anyio
async def test_a_browser_that_was_let_in_as_it_is_stays_known_and_one_with_a_proof_need_not(
    file: Path,
) -> None:
    """Otherwise a program takes a session over that hides itself from the system."""
    code, access = new_desk_code(file), Unknown()
    desk = WebDesk(Queue(), port=7070, access=access, desk_code=DeskCodeCheck(file))
    visitor = Visitor(desk)
    entered = await visitor.post(urlsplit(desk.sign_in_url()).path, {"code": code})
    visitor.cookie = entered.headers["set-cookie"].partition(";")[0]
    assert (await visitor.get(entered.headers["location"])).status_code == 200
    access.known = "own"
    known = await Visitor(desk).sign_in()
    access.known = "unknown"
    assert (await visitor.get(entered.headers["location"])).status_code == 200
    assert (await known.get(known.place)).status_code == 403


@pytest.mark.shows("W9")
@pytest.mark.slow
def test_the_command_shows_the_code_at_the_terminal_and_changes_it_for_its_owner_only(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    command = [*HANDRAISE, "desk", "code"]
    first = at_a_terminal(command, environment).partition("Your desk code: ")[2][:9]
    kept = load(tmp_path / "handraise/desk-code.json")
    assert kept.is_it(first)
    asked = "Your desk code until now:"
    assert "Nothing was changed" in at_a_terminal(command, environment, [(asked, "0000-0000")])
    assert load(tmp_path / "handraise/desk-code.json") == kept
    second = at_a_terminal(command, environment, [(asked, first)]).partition("Your desk code: ")[2][:9]
    assert load(tmp_path / "handraise/desk-code.json").is_it(second)


@pytest.mark.shows("W9")
def test_the_command_writes_no_code_where_a_program_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.desks.codes.TERMINAL", str(tmp_path / "no terminal" / "tty"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    done = CliRunner().invoke(app, ["desk", "code"])
    assert (done.exit_code, "there is no terminal" in done.output) == (2, True)
    assert not (tmp_path / "handraise/desk-code.json").exists()
