"""Bounds of HTTP, on both sides: whoever sends without end, or reads nothing, takes no more than their share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from tests.gateway.test_http import gateway_to, served
from tests.gateway.test_passing import CALL
from tests.gateway.test_shared import HELLO
from tests.gateway.wire_http import over_http
from tests.waiting import until

from handraise.gateway.http.events import Events
from handraise.gateway.http.exchange import MAX_WAITING, Exchange, read_body
from handraise.gateway.messages import notice, request, response
from handraise.gateway.reading import Unreadable
from handraise.gateway.upstreams import Upstream

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W7")]

LONGEST_EVENT = 100_000


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that a test reaches quickly."""
    monkeypatch.setattr("handraise.gateway.http.client.LONGEST", 100_000)


async def _endless(start: bytes) -> AsyncIterator[bytes]:
    yield start
    while True:
        yield b"x" * 10_000
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("kind", "start"),
    [
        ("application/json", b'{"jsonrpc":"2.0","id":1,"result":{"x":"'),
        ("text/event-stream", b"data: "),
        ("text/event-stream", b"data: {}\ndata: "),
        ("text/plain", b""),
    ],
    ids=["JSON", "a line of an event", "a second line", "anything else"],
)
async def test_a_server_that_answers_without_end_is_cut_off(short: None, kind: str, start: bytes) -> None:
    async def app(request: Request) -> Response:
        return StreamingResponse(_endless(start), media_type=kind)

    endless = Starlette(routes=[Route("/mcp", app, methods=["POST"])])
    async with (
        served(endless, "off") as url,
        gateway_to(Upstream("x", url=url), []) as gateway,
        httpx2.AsyncClient(timeout=20) as http,
    ):
        told = (await http.post(gateway, json=HELLO)).json()
    assert "could not be reached, or did not answer" in told["error"]["message"]


async def test_an_event_of_many_short_lines_is_bounded_too(short: None) -> None:
    events, line = Events(), b"data: " + b"x" * 2000 + b"\n"
    for _ in range(49):
        events.feed(line)
    assert events.size < LONGEST_EVENT < events.size + 3 * len(line)
    events.feed(line * 3)
    assert events.size > LONGEST_EVENT


async def test_a_request_without_end_is_refused_before_it_is_all_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("handraise.gateway.http.exchange.LONGEST", 50_000)
    taken = 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        taken += 10_000
        return {"type": "http.request", "body": b"x" * 10_000, "more_body": True}

    with pytest.raises(Unreadable, match="longer"):
        await read_body(receive)
    assert taken == 60_000


async def test_what_a_client_does_not_read_is_dropped_but_never_the_response() -> None:
    call = request(1, "tools/call", {})
    exchange = Exchange(call)
    long = notice("notifications/message", {"data": "x" * (MAX_WAITING // 4)})
    for _ in range(6):
        exchange.send(long)
    ended = response(1, {"content": []})
    exchange.send(ended)
    read = [await exchange.next() for _ in range(4)]
    assert read[:3] == [long] * 3
    assert read[3] is ended


async def test_nothing_is_kept_for_a_client_that_left() -> None:
    """On older revisions its call goes on, and a server may tell its progress for days."""
    async with over_http(modern=False, behind=False) as client:
        client.ask(7, "tools/call", CALL)
        await client.server.taken("tools/call")
        (session,) = client.app._sessions
        (call,) = session.relay.calls.values()
        port = call.port
        assert isinstance(port, Exchange)
        await client.leave()
        await until(lambda: port.left)
        port.send(notice("notifications/message", {"data": "x"}))
        assert port._size == 0
