"""The control socket, for real: what waits can be seen, and only the code lets one answer."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.desks.questions import ADA, form_question, link_question

from handraise.access import AccessCheck
from handraise.desks import Decision, Queue, Waiting
from handraise.desks.codes import AnswerCode, prove
from handraise.desks.control import (
    AnswerListener,
    Pending,
    entries,
    pending,
    require_private,
    runtime_directories,
    runtime_directory,
    send_answer,
)
from handraise.errors import SetupError
from handraise.forms import Flag, Form, Text
from handraise.processes import SocketOwner, UnixPeer
from handraise.questions import Accepted, Cancelled, Declined, Person
from handraise.secrets import SecretFinding

pytestmark = pytest.mark.slow

NAME = Form.by_hand(Text("name", min_length=2, default="Ada"))
DECLINE = {"action": "decline"}


@dataclass
class Office:
    """A listener with its queue, and a client that runs beside it."""

    queue: Queue
    code: AnswerCode
    directory: Path
    asked: list[asyncio.Task[Decision]] = field(default_factory=list)

    async def put(self, *questions: Waiting) -> None:
        self.asked += [asyncio.create_task(self.queue.put(question)) for question in questions]
        await asyncio.sleep(0)

    async def look(self) -> tuple[Pending, ...]:
        return await asyncio.to_thread(pending, self.directory)

    async def send_answer(
        self, answer: dict[str, Any], *, code: str | None = None, anyway: bool = False, at: int = 0
    ) -> dict[str, Any]:
        question = (await self.look())[at]
        reply = await asyncio.to_thread(
            send_answer, question, code or self.code.shown(), answer, anyway=anyway
        )
        assert reply is not None
        return reply

    async def decided(self, at: int = 0) -> Decision:
        async with asyncio.timeout(60):
            return await self.asked[at]


@asynccontextmanager
async def open_office(
    directory: Path, person: Person | None = None, access: AccessCheck | None = None
) -> AsyncIterator[Office]:
    queue, code = Queue(), AnswerCode()
    async with AnswerListener(queue, code, person=person, directory=directory, access=access):
        office = Office(queue, code, directory)
        yield office
        for task in office.asked:
            task.cancel()
        await asyncio.gather(*office.asked, return_exceptions=True)


@pytest.fixture(params=["socket", "port"])
async def office(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Office]:
    """Once over a Unix socket, and once over a port, as where the path is too long for a socket."""
    directory = tmp_path / ("run" if request.param == "socket" else "x" * 120)
    async with open_office(directory) as opened:
        [entry] = entries(directory)
        assert entry.suffix == {"socket": ".sock", "port": ".port"}[request.param]
        yield opened


@pytest.mark.shows("D9")
async def test_what_waits_is_listed_and_answered_with_the_code(office: Office) -> None:
    await office.put(form_question("Who?", NAME))
    [question] = await office.look()
    assert question.described["question"]["message"] == "Who?"
    reply = await office.send_answer({"action": "accept", "content": {"name": "Bob"}})
    assert reply == {"taken": "accept", "link": None}
    decision = await office.decided()
    assert (decision.answer, decision.by, decision.desk) == (Accepted({"name": "Bob"}), "human", "command")
    assert decision.edited == ("name",)


@pytest.mark.parametrize(("given", "answer"), [("decline", Declined()), ("cancel", Cancelled())])
async def test_a_question_is_declined_or_cancelled(office: Office, given: str, answer: object) -> None:
    await office.put(form_question("Who?", NAME))
    assert await office.send_answer({"action": given}) == {"taken": given, "link": None}
    assert (await office.decided()).answer == answer


@pytest.mark.shows("D9")
async def test_a_wrong_code_changes_nothing(office: Office) -> None:
    await office.put(form_question("Who?", NAME))
    for _ in range(5):
        assert (await office.send_answer(DECLINE, code="ABCD-EFGH"))["error"] == "wrong_code"
    assert (await office.send_answer(DECLINE))["error"] == "wait", "not even the right one, so soon after"
    assert len(office.queue.waiting()) == 1


@pytest.mark.shows("D9")
async def test_a_client_that_guesses_codes_takes_no_try_and_no_place_of_the_person(tmp_path: Path) -> None:
    access = AccessCheck()
    access.add_client(os.getpid())
    async with open_office(tmp_path / "run", access=access) as office:
        await office.put(form_question("Who?", NAME))
        for _ in range(5):
            assert (await office.send_answer(DECLINE, code="ABCD-EFGH"))["error"] == "wrong_code"
        assert (await office.send_answer(DECLINE))["error"] == "wait"
        proof = prove(office.code.shown(), "n", "id", DECLINE, False)
        assert await office.code.check(proof, "n", "id", DECLINE, False) == "right", (
            "the person's own program"
        )


@pytest.mark.shows("D9", "S4")
async def test_an_answer_that_does_not_fit_is_told_and_changes_nothing(office: Office) -> None:
    await office.put(form_question("Who?", Form.by_hand(Text("name", min_length=2), Flag("sure"))))
    reply = await office.send_answer({"action": "accept", "content": {"name": "x", "more": 1}})
    assert reply["error"] == "misfit"
    assert len(reply["problems"]) == 3
    assert (await office.send_answer({"action": "accept"}))["error"] == "misfit"
    assert (await office.send_answer({"action": "perhaps"}))["error"] == "misfit"
    secret = {"name": "ghp_" + "x7Kd92LmQp" * 3 + "aB3dE9", "sure": True}
    assert (await office.send_answer({"action": "accept", "content": secret}, anyway=True))[
        "error"
    ] == "secret"
    assert len(office.queue.waiting()) == 1


@pytest.mark.shows("S4")
async def test_personal_data_leaves_only_when_somebody_says_so(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SecretFinding("name", 2, "national_id", "This looks like a national id number.")
    monkeypatch.setattr(import_module("handraise.desks.fill"), "scan_answer", lambda *_: (found,))
    await office.put(form_question("Who?", Form.by_hand(Text("name"))))
    answer = {"action": "accept", "content": {"name": "Ada"}}
    reply = await office.send_answer(answer)
    assert (reply["error"], reply["problems"]) == ("personal", [found.reason])
    assert (await office.send_answer(answer, anyway=True))["taken"] == "accept"


@pytest.mark.shows("D8")
async def test_the_second_answer_is_told_that_it_is_too_late(office: Office) -> None:
    await office.put(form_question("Who?", NAME))
    [question] = await office.look()
    office.queue.decide(question.id, Decision(Declined(), desk="web"))
    reply = await asyncio.to_thread(send_answer, question, office.code.shown(), {"action": "cancel"})
    assert reply is not None
    assert (reply["error"], reply["sentence"]) == (
        "too_late",
        "This question is over. Declined. It ended in the browser.",
    )
    assert (await office.decided()).answer == Declined()


@pytest.mark.shows("D2")
async def test_a_link_is_consented_to_and_given_back_to_be_opened(office: Office) -> None:
    await office.put(link_question())
    reply = await office.send_answer({"action": "accept", "content": {}})
    assert reply == {"taken": "accept", "link": "https://example.com/start"}
    assert (await office.decided()).answer == Accepted(None)


async def test_a_dangerous_link_cannot_be_accepted(office: Office) -> None:
    await office.put(link_question("https://user:pw@evil.example\\@example.com/"))
    assert (await office.send_answer({"action": "accept", "content": {}}))["error"] == "danger"
    assert (await office.send_answer(DECLINE))["taken"] == "decline"


async def test_a_counter_for_one_person_shows_nobody_elses_questions(tmp_path: Path) -> None:
    async with open_office(tmp_path / "run", person=ADA) as office:
        bob = Person("", "bob", "system")
        await office.put(form_question("Hers?", NAME), form_question("His?", NAME, person=bob))
        [question] = await office.look()
        assert question.described["question"]["message"] == "Hers?"
        stolen = Pending(question.socket, {**question.described, "id": office.queue.waiting()[1].id})
        reply = await asyncio.to_thread(send_answer, stolen, office.code.shown(), DECLINE)
        assert reply is not None
        assert reply["error"] == "unknown"


async def test_a_port_is_open_only_to_who_can_read_its_file(tmp_path: Path) -> None:
    async with open_office(tmp_path / ("x" * 120)) as office:
        await office.put(form_question("Who?", NAME))
        [entry] = entries(office.directory)
        assert stat.S_IMODE(entry.stat().st_mode) == 0o600
        told = json.loads(entry.read_text())
        entry.write_text(json.dumps({**told, "token": "guessed"}))
        assert await office.look() == ()


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]\n", b'"x"\n', b'{"do": "answer"}\n', b"{" * 2_000_000 + b"\n"]
)
async def test_garbage_is_refused_and_the_counter_goes_on(tmp_path: Path, line: bytes) -> None:
    async with open_office(tmp_path / "run") as office:
        await office.put(form_question("Who?", NAME))
        [entry] = entries(office.directory)
        reader, writer = await asyncio.open_unix_connection(entry)
        await reader.readline()
        writer.write(line)
        if line.endswith(b"\n"):
            async with asyncio.timeout(60):
                try:
                    reply = await reader.read()
                except ConnectionResetError:
                    reply = b""
            assert not reply or "error" in json.loads(reply)
        writer.close()
        assert len(await office.look()) == 1


@pytest.mark.parametrize("name", ["127.0.0.1", "evil.example"], ids=["a cross-site post", "a rebound name"])
async def test_a_browser_that_posts_to_the_port_learns_and_decides_nothing(tmp_path: Path, name: str) -> None:
    async with open_office(tmp_path / ("x" * 120)) as office:
        await office.put(form_question("Who?", NAME))
        [entry] = entries(office.directory)
        told = json.loads(entry.read_text())
        body = json.dumps({"do": "pending", "token": told["token"]})  # which no page can know
        sent = f"POST / HTTP/1.1\r\nHost: {name}\r\nContent-Type: text/plain\r\n\r\n{body}\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", told["port"])
        await reader.readline()
        writer.write(sent.encode())
        async with asyncio.timeout(60):
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
        writer.close()
        assert len(await office.look()) == 1


async def test_a_guessed_id_leads_nowhere_even_with_the_code(office: Office) -> None:
    await office.put(form_question("Who?", NAME))
    [question] = await office.look()
    guessed = Pending(question.socket, {**question.described, "id": "1"})
    reply = await asyncio.to_thread(send_answer, guessed, office.code.shown(), DECLINE)
    assert reply is not None
    assert reply["error"] == "unknown"
    assert len(office.queue.waiting()) == 1


async def test_an_answer_that_was_overheard_cannot_be_replayed(tmp_path: Path) -> None:
    async with open_office(tmp_path / "run") as office:
        await office.put(form_question("Who?", NAME))
        [question] = await office.look()
        [entry] = entries(office.directory)
        proof = prove(office.code.shown(), "the nonce of another visit", question.id, DECLINE, False)
        overheard = {"do": "answer", "id": question.id, "proof": proof, "answer": DECLINE, "anyway": False}
        reader, writer = await asyncio.open_unix_connection(entry)
        await reader.readline()
        writer.write(json.dumps(overheard).encode() + b"\n")
        async with asyncio.timeout(60):
            assert json.loads(await reader.readline())["error"] == "wrong_code"
        writer.close()
        assert len(office.queue.waiting()) == 1


async def test_the_process_of_another_user_is_not_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_office(tmp_path / "run") as office:
        [entry] = entries(office.directory)
        ours = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: ours + 1)
        reader, writer = await asyncio.open_unix_connection(entry)
        async with asyncio.timeout(60):
            assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize("name", ["run", "x" * 120], ids=["socket", "port"])
@pytest.mark.parametrize("known", [False, True], ids=["unknown", "another user"])
async def test_a_process_that_may_be_another_users_is_not_served(
    name: str, known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = os.getuid() + 1
    unix, tcp = (UnixPeer(1, other), SocketOwner(other, 1)) if known else (None, None)
    monkeypatch.setattr("handraise.desks.control.unix_peer", lambda visitor: unix)
    monkeypatch.setattr("handraise.desks.control.tcp_peer", lambda client, server: tcp)
    async with open_office(tmp_path / name) as office:
        await office.put(form_question("Who?", NAME))
        assert await office.look() == ()


async def test_the_socket_is_private_and_gone_afterwards(tmp_path: Path) -> None:
    async with open_office(tmp_path / "run") as office:
        [entry] = entries(office.directory)
        assert stat.S_IMODE(office.directory.stat().st_mode) == 0o700
        assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert list(entries(tmp_path / "run")) == []


async def test_what_a_killed_process_left_is_tidied_up(tmp_path: Path) -> None:
    require_private(tmp_path / "run")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "run/1-dead.sock"))
    assert await asyncio.to_thread(pending, tmp_path / "run") == ()
    assert list(entries(tmp_path / "run")) == []


def test_a_directory_that_others_can_enter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("open", "link"):
        with pytest.raises(SetupError, match="yours alone"):
            require_private(tmp_path / name)


def test_the_place_is_the_sessions_own_or_beside_the_rules(tmp_path: Path) -> None:
    assert runtime_directory({"XDG_RUNTIME_DIR": str(tmp_path)}) == tmp_path / "handraise"
    env = {"XDG_RUNTIME_DIR": "relative", "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
    assert runtime_directory(env) == tmp_path / "handraise/run"


def test_who_looks_finds_what_was_started_with_fewer_variables(tmp_path: Path) -> None:
    (tmp_path / "handraise/run").mkdir(parents=True)
    env = {"XDG_RUNTIME_DIR": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
    few = {name: value for name, value in env.items() if name != "XDG_RUNTIME_DIR"}
    assert runtime_directory(few) in runtime_directories(env)
    assert runtime_directories(env)[0] == runtime_directory(env)


async def test_what_was_just_asked_is_held_back_and_not_refused(tmp_path: Path) -> None:
    """Whoever writes out an answer with its code has not typed ahead; still nothing is accepted at once."""
    async with open_office(tmp_path / "run") as office:
        await office.put(form_question("Who?", NAME))
        began = time.monotonic()
        await office.send_answer({"action": "accept", "content": {"name": "Bob"}})
        assert time.monotonic() - began >= 0.5


@pytest.mark.shows("W9b")
async def test_the_code_does_not_accept_what_needs_a_passkey(tmp_path: Path) -> None:
    async with open_office(tmp_path / "run") as office:
        await office.put(form_question("Who?", NAME, passkey=True))
        reply = await office.send_answer({"action": "accept", "content": {"name": "Ada"}})
        assert reply["error"] == "needs_passkey"
        assert "handraise inbox" in reply["sentence"]
        assert len(office.queue.waiting()) == 1
        assert (await office.send_answer(DECLINE))["taken"] == "decline"
