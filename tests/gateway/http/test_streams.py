"""A server that ends a stream early: it is taken up again behind its last event."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.gateway.test_http import served
from tests.waiting import until

from handraise.gateway.http import client
from handraise.gateway.http.exchange import read_body, reply, start_stream
from handraise.gateway.messages import Message, notice, request, response
from handraise.gateway.upstreams import Source, Upstream

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W3")]


class Early:
    """Ends every stream after one event, and notes behind which one it was taken up again."""

    def __init__(self, *said: Message) -> None:
        self._said = list(said)
        self.taken_up: list[bytes | None] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "DELETE":
            await reply(send, 200, b"", None)
            return
        if scope["method"] == "GET":
            self.taken_up.append(dict(scope["headers"]).get(b"last-event-id"))
            if not self._said:
                await reply(send, 405, b"", None)
                return
        elif b'"id"' not in (await read_body(receive) or b""):
            await reply(send, 202, b"", None)
            return
        event = b"id: e%d\nretry: 1\ndata: " % len(self._said)
        event += (b"" if scope["method"] == "POST" else self._said.pop(0).raw) + b"\n\n"
        await reply(send, 200, event, b"text/event-stream")


async def heard(server: Any, sent: Message, number: int) -> list[Message]:
    """So many messages that come back, and no more until the server offers no stream any more."""
    got: list[Message] = []
    enough = asyncio.Event()

    def take(message: Message) -> None:
        got.append(message)
        if len(got) == number:
            enough.set()

    async with served(server, "off") as url:
        link = client.HttpLink(Source(Upstream("early", url=url)))
        link.on_message = take
        link.send(sent)
        async with asyncio.timeout(60):
            await enough.wait()
        await link.aclose()
    return got


async def test_an_answer_comes_on_the_stream_that_is_taken_up_again() -> None:
    server = Early(notice("notifications/progress", {"progress": 1}), response(7, {"content": []}))
    progress, answer = await heard(server, request(7, "tools/call", {"name": "slow"}), 2)
    assert progress.method == "notifications/progress"
    assert (progress.about, answer.about, answer.result) == (7, 7, {"content": []})
    assert server.taken_up == [b"e2", b"e2"]


async def test_what_a_server_says_by_itself_is_heard_beyond_the_end_of_a_stream() -> None:
    server = Early(*(notice("notifications/tools/list_changed", {"n": n}) for n in range(2)))
    told = await heard(server, notice("notifications/initialized", {}), 2)
    assert [(each.params["n"], each.about) for each in told] == [(0, None), (1, None)]
    assert server.taken_up[:2] == [None, b"e2"]


class Slow:
    """Has a client ask again and again, on streams without an event, until it answers."""

    def __init__(self, times: int, said: Message) -> None:
        self._times = times
        self._said = said

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        event = b"id: e\nretry: 1\ndata: \n\n" if scope["method"] == "POST" else b": nothing yet\n\n"
        if scope["method"] == "GET":
            self._times -= 1
            if not self._times:
                event = b"data: %b\n\n" % self._said.raw
        elif b'"id"' not in (await read_body(receive) or b""):
            event = b""
        await reply(send, 200 if event else 202, event, b"text/event-stream" if event else None)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (request(7, "tools/call", {"name": "slow"}), response(7, {"content": []})),
        (notice("notifications/initialized", {}), notice("notifications/tools/list_changed", {})),
    ],
    ids=["answer", "notice"],
)
async def test_a_server_may_take_as_long_as_its_person(
    sent: Message, said: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LONGER", 0.0)
    monkeypatch.setattr(client, "_RETRY", 0.001)
    (told,) = await heard(Slow(100, said), sent, 1)
    assert told.body == said.body


def test_a_server_that_ends_each_stream_is_asked_less_and_less() -> None:
    stream = client._Stream(retry=0.001)
    pauses = []
    for stream.vain in (0, 1, 20, 1000):
        pauses.append(stream.pause)
    assert pauses == [0.001, 0.1, 2.0, 10.0]


class Broken(Slow):
    """Breaks the connection off behind an event."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] != "POST":
            await super().__call__(scope, receive, send)
            return
        await start_stream(send, None)
        event = b"id: e\nretry: 1\ndata: \n\n"
        await send({"type": "http.response.body", "body": event, "more_body": True})
        raise ConnectionError


async def test_a_stream_that_breaks_off_is_resumed() -> None:
    answer = response(7, {"content": []})
    (told,) = await heard(Broken(1, answer), request(7, "tools/call", {"name": "slow"}), 1)
    assert told.body == answer.body


class Once:
    """Sends one more event behind an answer, offers no other stream, and counts how often one is asked for."""

    def __init__(self) -> None:
        self.asked_for = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "GET":
            self.asked_for += 1
            await reply(send, 405, b"", None)
        elif b'"id"' not in (await read_body(receive) or b""):
            await reply(send, 202, b"", None)
        else:
            said = (
                response(7, {"content": []}),
                notice("notifications/message", {"level": "info", "data": 1}),
            )
            events = b"".join(
                b"id: e%d\nretry: 1\ndata: %b\n\n" % (n, each.raw) for n, each in enumerate(said)
            )
            await reply(send, 200, events, b"text/event-stream")


@pytest.mark.parametrize(
    ("sent", "heard_back", "asked_for"),
    [(request(7, "tools/call", {"name": "quick"}), 2, 0), (notice("notifications/initialized", {}), 0, 1)],
    ids=["a stream that has answered", "a stream that is not offered"],
)
async def test_no_stream_is_taken_up_in_vain(
    sent: Message, heard_back: int, asked_for: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_RETRY", 0.001)
    server, got = Once(), list[Message]()
    async with served(server, "off") as url:
        link = client.HttpLink(Source(Upstream("once", url=url)))
        link.on_message = got.append
        link.send(sent)
        await until(lambda: (len(got), server.asked_for) >= (heard_back, asked_for))
        await asyncio.sleep(0.1)  # time for a hundred more
        await link.aclose()
    assert (len(got), server.asked_for) == (heard_back, asked_for)


@pytest.mark.shows("W7")
async def test_a_server_that_takes_nothing_gets_no_connections_without_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client, "MOST_OPEN", 3)

    async def silent(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    async with served(silent, "off") as url:
        link = client.HttpLink(Source(Upstream("silent", url=url)))
        got: list[Message] = []
        link.on_message = got.append
        for id in range(3):
            link.send(response(id, {}))
        link.send(request(9, "tools/list"))
        await until(lambda: got)
        assert got[0].id == 9
        assert "under way" in got[0].body["error"]["message"]
        await link.aclose()
