"""A question over stdio is written at once where that is safe, and never between or before other messages."""

from __future__ import annotations

import io
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server import stdio
from mcp.shared._context_streams import ContextSendStream, create_context_streams
from mcp_types import JSONRPCRequest
from tests.server.peers import ROOT

from handraise.server.pipe import write_at_once

QUESTION = JSONRPCRequest(jsonrpc="2.0", id="q_1", method="elicitation/create", params={"message": "Ünì?"})
LINE = '{"jsonrpc":"2.0","id":"q_1","method":"elicitation/create","params":{"message":"Ünì?"}}\n'.encode()


@asynccontextmanager
async def stream_to(file: int) -> AsyncIterator[ContextSendStream[Any]]:
    """A stream whose messages the SDK writes to a file."""
    writing = anyio.wrap_file(os.fdopen(file, "w", closefd=False))
    async with stdio.stdio_server(anyio.wrap_file(io.StringIO()), writing) as (receive, send), receive, send:
        await anyio.wait_all_tasks_blocked()
        yield send


@asynccontextmanager
async def stream_to_others(readers: int) -> AsyncIterator[ContextSendStream[Any]]:
    """A stream whose next message so many other tasks wait for."""
    send, receive = create_context_streams[Any](0)
    async with send, receive, anyio.create_task_group() as tasks:
        for _ in range(readers):
            tasks.start_soon(receive.receive)
        await anyio.wait_all_tasks_blocked()
        yield send
        tasks.cancel_scope.cancel()


@pytest.fixture
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """Where we write and where the client reads: a pipe, or what Node has for one."""
    if getattr(request, "param", "pipe") == "pipe":
        reading, writing = os.pipe()
    else:
        reading, writing = (end.detach() for end in socket.socketpair())
    os.set_blocking(reading, False)
    try:
        yield writing, reading
    finally:
        os.close(writing)
        os.close(reading)


def claim(monkeypatch: pytest.MonkeyPatch, file: int | None) -> None:
    """Let the SDK serve on a file in the place of our standard output."""
    monkeypatch.setitem(stdio._claims, 1, stdio._StreamClaim(1, file))


@pytest.mark.parametrize("ends", ["pipe", "socket"], indirect=True)
async def test_a_short_message_is_written_at_once(
    ends: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    writing, reading = ends
    claim(monkeypatch, writing)
    async with stream_to(writing) as stream:
        assert write_at_once(stream, QUESTION)
        assert stream._inner.statistics().tasks_waiting_receive == 1
    assert os.read(reading, 1000) == LINE


@pytest.mark.parametrize("readers", [0, 1, 2], ids=["busy", "another", "two"])
async def test_nothing_is_written_past_a_stream_that_whoever_writes_does_not_wait_at(
    readers: int, ends: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    writing, reading = ends
    claim(monkeypatch, writing)
    async with stream_to_others(readers) as stream:
        assert not write_at_once(stream, QUESTION)
    with pytest.raises(BlockingIOError):
        os.read(reading, 1000)


async def test_of_two_clients_over_pipes_each_gets_its_own_messages(
    ends: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    writing, reading = ends
    others_reading, others_writing = os.pipe()
    claim(monkeypatch, writing)
    try:
        async with stream_to(writing) as stream, stream_to(others_writing) as others:
            for _ in range(2):
                assert not write_at_once(others, QUESTION)
                assert write_at_once(stream, QUESTION)
        async with stream_to(others_writing) as others:
            assert not write_at_once(others, QUESTION)
    finally:
        os.close(others_writing)
        os.close(others_reading)
    assert os.read(reading, 1000) == LINE * 2


async def test_a_client_at_what_is_no_file_is_written_to_through_its_stream(
    ends: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    claim(monkeypatch, ends[0])
    nowhere: Any = anyio.wrap_file(io.StringIO())
    async with stdio.stdio_server(anyio.wrap_file(io.StringIO()), nowhere) as (receive, send), receive, send:
        await anyio.wait_all_tasks_blocked()
        assert not write_at_once(send, QUESTION)


async def test_a_message_that_may_not_find_room_goes_through_the_stream(
    ends: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    writing, reading = ends
    claim(monkeypatch, writing)
    room = select.PIPE_BUF - len(LINE)
    async with stream_to(writing) as stream:
        for length, fits in ((room, True), (room + 1, False)):
            longer = QUESTION.model_copy(update={"params": {"message": "Ünì?" + "x" * length}})
            assert write_at_once(stream, longer) is fits
        assert len(os.read(reading, 100_000)) == select.PIPE_BUF
        os.set_blocking(writing, False)
        with suppress(BlockingIOError):
            while os.write(writing, b"x" * select.PIPE_BUF):
                pass
        assert not write_at_once(stream, QUESTION)


async def test_only_a_pipe_that_is_the_sdks_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "file").open("wb") as file:
        async with stream_to(file.fileno()) as stream:
            assert not write_at_once(stream, QUESTION), "nobody serves on stdio"
            claim(monkeypatch, None)
            assert not write_at_once(stream, QUESTION), "the SDK could not move it out of reach"
            claim(monkeypatch, file.fileno())
            assert not write_at_once(stream, QUESTION), "a file"
    assert (tmp_path / "file").read_bytes() == b""


async def test_a_client_that_is_gone_is_left_to_whoever_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    claim(monkeypatch, writing)
    os.close(reading)
    try:
        async with stream_to(writing) as stream:
            assert not write_at_once(stream, QUESTION)
            monkeypatch.setattr("handraise.server.pipe._takes", lambda *_: True)  # it goes right now
            assert not write_at_once(stream, QUESTION)
    finally:
        os.close(writing)


class Peer:
    """A client that reads every line as it was written."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def send(self, **message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        message: dict[str, Any] = json.loads(self._process.stdout.readline())
        return message


@contextmanager
def served() -> Iterator[Peer]:
    command = [sys.executable, "tests/server/piped.py"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            peer = Peer(process)
            client = {"clientInfo": {"name": "peer", "version": "1"}, "capabilities": {"elicitation": {}}}
            peer.send(id=0, method="initialize", params={"protocolVersion": "2025-11-25", **client})
            assert peer.receive()["id"] == 0
            peer.send(method="notifications/initialized")
            yield peer
        finally:
            process.kill()


def call(peer: Peer, who: str, *, spaces: int = 0, notes: int = 0) -> None:
    arguments = {"who": who, "spaces": spaces, "notes": notes}
    params = {"name": "greet", "arguments": arguments, "_meta": {"progressToken": who}}
    peer.send(id=who, method="tools/call", params=params)


def heard(peer: Peer, calls: int) -> dict[str, list[str]]:
    """What each of some calls said, in the order in which it did; every question is answered."""
    said: dict[str, list[str]] = {}
    while calls:
        message = peer.receive()
        params = message.get("params", {})
        if message.get("method") == "notifications/progress":
            said.setdefault(params["progressToken"], []).append(str(int(params["progress"])))
        elif "method" in message:
            said.setdefault(params["message"].strip(), []).append("asks")
            peer.send(id=message["id"], result={"action": "accept", "content": {"value": "Ada"}})
        else:
            said.setdefault(message["id"], []).append(message["result"]["content"][0]["text"])
            calls -= 1
    return said


@pytest.mark.slow
def test_over_stdio_a_question_is_written_at_once_unless_it_is_long() -> None:
    with served() as peer:
        for number in range(50):  # whoever wrote the message before may not have come back yet
            call(peer, f"short {number}")
            said = heard(peer, 1)
            if said == {f"short {number}": ["asks", "Ada True"]}:
                break
        else:
            pytest.fail(f"no question was written at once: {said}")
        call(peer, "long", spaces=100_000)
        assert heard(peer, 1) == {"long": ["asks", "Ada False"]}


@pytest.mark.slow
def test_over_stdio_messages_keep_their_order_and_are_never_torn() -> None:
    calls, notes = 20, 10
    with served() as peer:
        for number in range(calls):
            call(peer, str(number), spaces=number * 500, notes=notes)
        said = heard(peer, calls)
    steps = [str(note) for note in range(2 * notes)]
    for number in range(calls):
        *before, end = said[str(number)]
        assert before == [*steps[:notes], "asks", *steps[notes:]]
        assert end.startswith("Ada ")
