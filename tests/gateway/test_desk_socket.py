"""The private socket of a desk: whom it answers, and whom it asks for a proof of the desk code."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.desks.questions import form_question

from handraise.access import REFUSALS, Access, AccessCheck
from handraise.desks import Decision, Queue
from handraise.desks.codes import DeskCodeCheck, new_desk_code, prove_desk_code
from handraise.desks.remote import dump_decision
from handraise.gateway.desk_socket import (
    UNKNOWN,
    WRONG_CODE,
    DeskConnection,
    DeskSocket,
    ask_desk,
    desk_sockets,
)
from handraise.questions import Declined

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W9")]

READ = {"do": "read", "known": []}


class Known(AccessCheck):
    """What the system tells about a visitor is the test's choice."""

    access: Access = "unknown"

    def of_unix_socket(self, connection: socket.socket) -> Access:
        return self.access


class Desk:
    """A desk at which one question waits, its socket, and a code that its person made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.queue, self.access = Queue(), Known()
        self.code_file = folder / "handraise" / "desk-code.json"
        self.code = new_desk_code(self.code_file)
        self.waiting = form_question()
        self.asked = asyncio.create_task(self.queue.put(self.waiting))
        self.opened: list[str | None] = []
        self.socket = DeskSocket(
            self.queue, self._sign_in_file, access=self.access, code=DeskCodeCheck(self.code_file)
        )

    async def _sign_in_file(self, question: str | None) -> Path:
        self.opened.append(question)
        return self.folder / "sign-in.html"

    async def ask(self, **asked: Any) -> dict[str, Any]:
        reply = await asyncio.to_thread(ask_desk, next(desk_sockets()), asked)
        assert reply is not None
        return reply

    async def prove(self, typed: str, challenge: dict[str, Any]) -> dict[str, Any]:
        name = next(desk_sockets()).name
        signature = prove_desk_code(typed, challenge["salt"], challenge["prove"], name).hex()
        return await self.ask(do="prove", challenge=challenge["prove"], signature=signature)


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    made = Desk(tmp_path)
    async with made.socket:
        yield made
    made.asked.cancel()


async def test_an_unknown_visitor_reads_and_decides_with_a_proof_of_the_desk_code_only(desk: Desk) -> None:
    challenge = await desk.ask(**READ)
    assert challenge["refused"] == REFUSALS["unknown"]
    assert "waiting" not in challenge
    assert await desk.prove("0000-0000", challenge) == {"refused": WRONG_CODE}
    challenge = await desk.ask(**READ)
    right = (await desk.prove(desk.code, challenge))["pass"]
    assert await desk.prove(desk.code, challenge) == {"refused": WRONG_CODE}, (
        "a challenge is good for one proof"
    )
    assert [each["id"] for each in (await desk.ask(**READ, **{"pass": right}))["waiting"]] == [
        desk.waiting.id
    ]
    for forged in ("", right[:-1], None, [right]):
        assert "waiting" not in await desk.ask(**READ, **{"pass": forged})
    declined = dump_decision(Decision(Declined(), by="human"), with_content=True)
    decide = {"do": "decide", "id": desk.waiting.id, "decision": declined}
    assert "refused" in await desk.ask(**decide)
    assert desk.queue.outcome(desk.waiting.id) is None
    assert "verdict" in await desk.ask(**decide, **{"pass": right})
    assert desk.queue.outcome(desk.waiting.id) is not None


@pytest.mark.parametrize("signature", ["", "no hexadecimal digits", "00" * 64, "00" * 3])
async def test_what_is_no_signature_gets_no_pass(desk: Desk, signature: str) -> None:
    challenge = (await desk.ask(**READ))["prove"]
    refused = await desk.ask(do="prove", challenge=challenge, signature=signature)
    assert refused == {"refused": WRONG_CODE}


async def test_a_code_that_cannot_be_read_lets_nobody_in_and_is_told(desk: Desk) -> None:
    challenge = await desk.ask(**READ)
    desk.code_file.chmod(0o644)
    assert await desk.prove(desk.code, challenge) == {"refused": WRONG_CODE}
    refused = await desk.ask(**READ)
    assert "chmod 600" in refused["refused"]
    assert "prove" not in refused
    desk.code_file.unlink()
    assert await desk.ask(**READ) == {"refused": REFUSALS["unknown"]}, (
        "without a code there is nothing to prove"
    )


@pytest.mark.parametrize("access", ["client", "no_terminal", "another_user"])
async def test_a_visitor_who_is_known_as_a_wrong_one_gets_neither_questions_nor_a_challenge(
    desk: Desk, access: Access
) -> None:
    proven = (await desk.prove(desk.code, await desk.ask(**READ)))["pass"]
    desk.access.access = access
    for asked in (READ, {**READ, "pass": proven}, {"do": "sign in"}, {"do": "show", "id": desk.waiting.id}):
        assert await desk.ask(**asked) == {"refused": REFUSALS[access]}
    assert desk.opened == []


async def test_another_user_does_not_even_look(desk: Desk) -> None:
    desk.access.access = "another_user"
    assert await desk.ask(do="look") == {"refused": REFUSALS["another_user"]}
    desk.access.access = "unknown"
    looked = await desk.ask(do="look")
    assert (looked["waiting"], looked["servers"]) == (1, ["notes"])


async def test_an_unknown_visitor_opens_the_page_that_asks_for_the_code_itself(desk: Desk) -> None:
    assert (await desk.ask(do="sign in"))["file"].endswith("sign-in.html")
    await desk.ask(do="sign in", id=desk.waiting.id)
    await desk.ask(do="sign in", id=7)
    assert desk.opened == [None, desk.waiting.id, None]


@pytest.mark.parametrize(
    "asked",
    [{}, {"do": 1}, {"do": "dance"}, {"do": "read"}, {"do": "prove", "challenge": 1, "signature": ""}],
)
async def test_a_request_that_the_desk_does_not_know_is_refused(desk: Desk, asked: dict[str, Any]) -> None:
    desk.access.access = "own"
    assert await desk.ask(**asked) == UNKNOWN


async def test_the_person_types_the_code_once_and_again_after_a_wrong_one(desk: Desk) -> None:
    typed = iter(["0000-0000", desk.code])
    connection = DeskConnection(lambda: next(typed))
    entry = next(desk_sockets())
    assert await asyncio.to_thread(connection.ask_desk, entry, READ) == {"refused": WRONG_CODE}
    for _ in range(2):
        reply = await asyncio.to_thread(connection.ask_desk, entry, READ)
        assert reply is not None
        assert len(reply["waiting"]) == 1


async def test_a_visitor_who_sends_no_json_is_hung_up_on(desk: Desk) -> None:
    reader, writer = await asyncio.open_unix_connection(next(desk_sockets()))
    writer.write(b"hello\n")
    assert await reader.read() == b""
    writer.close()


async def test_a_client_that_opens_connections_without_end_keeps_nobody_from_the_desk(desk: Desk) -> None:
    desk.access.access = "client"
    here = [await asyncio.open_unix_connection(next(desk_sockets())) for _ in range(17)]
    over = [asyncio.create_task(reader.read()) for reader, _ in here]
    done, _ = await asyncio.wait(over, timeout=20, return_when=asyncio.FIRST_COMPLETED)
    assert [each.result() for each in done] == [b""], "one too many"
    desk.access.access = "own"
    assert len((await desk.ask(**READ))["waiting"]) == 1
    for _, writer in here:
        writer.close()
    await asyncio.wait(over, timeout=20)


async def test_the_socket_is_private_and_gone_with_its_desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    desk = Desk(tmp_path)
    async with desk.socket:
        (entry,) = desk_sockets()
        assert entry.stat().st_mode & 0o077 == 0
    desk.asked.cancel()
    assert not list(desk_sockets())
    with socket.socket(socket.AF_UNIX) as ended:
        ended.bind(str(entry))  # its process is gone
    assert ask_desk(entry, READ) is None
    assert not entry.exists()


def test_a_desk_that_does_not_answer_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handraise.gateway.desk_socket._PATIENCE", 0.01)
    entry = tmp_path / "mute.desk"
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(entry))
        mute.listen()
        assert ask_desk(entry, READ) is None
        assert entry.exists(), "somebody is there"


@pytest.mark.parametrize("reply", [b"", b"no JSON\n", b"[]\n", b"null\n"])
async def test_what_is_no_reply_of_a_desk_is_none(tmp_path: Path, reply: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(reply)
        writer.close()

    entry = tmp_path / "odd.desk"
    async with await asyncio.start_unix_server(answer, entry):
        assert await asyncio.to_thread(ask_desk, entry, READ) is None


async def test_a_desk_whose_socket_somebody_removed_ends_as_any_other(desk: Desk) -> None:
    next(desk_sockets()).unlink()
