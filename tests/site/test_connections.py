"""Connections without a request make room for others, and only complete requests count towards the limit."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import httpx2 as httpx
import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from tests.server.peers import free_port

from handraise.site.connections import CONNECTION, BoundedConnections, BoundedProtocol

pytestmark = pytest.mark.shows("W7")

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Site:
    """An application that answers when it is told to."""

    def __init__(self, **limits: Any) -> None:
        self.app = BoundedConnections(self._serve, **limits)
        self.begun = asyncio.Semaphore(0)
        self.go_on = asyncio.Event()
        self.port = free_port()
        self._writers: list[asyncio.StreamWriter] = []

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        self.begun.release()
        await self.go_on.wait()
        await PlainTextResponse("here")(scope, receive, send)

    async def __aenter__(self) -> Site:
        config = uvicorn.Config(
            self.app, port=self.port, http=BoundedProtocol, ws="none", lifespan="off", log_level="error"
        )
        self._server = uvicorn.Server(config)
        config.load()
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.go_on.set()
        for writer in self._writers:
            writer.close()
        await self._server.shutdown()

    async def connect(self, sent: bytes = b"") -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(sent)
        await writer.drain()
        self._writers.append(writer)
        return reader

    async def get(self) -> httpx.Response:
        async with httpx.AsyncClient() as client:
            return await client.get(f"http://127.0.0.1:{self.port}/")


async def test_the_oldest_connection_without_a_request_makes_room() -> None:
    async with asyncio.timeout(60), Site(most_idle=3) as site:
        served = await site.connect(REQUEST)
        await site.begun.acquire()
        first, second, third = [await site.connect() for _ in range(3)]
        await site.connect(b"GET /")
        with pytest.raises((ConnectionError, EOFError)):
            await first.readexactly(1)
        assert not second.at_eof()
        assert not third.at_eof()
        site.go_on.set()
        assert (await served.readline()).startswith(b"HTTP/1.1 200"), "one with a request does not make room"


async def test_more_requests_than_allowed_are_turned_away_until_one_ends() -> None:
    async with asyncio.timeout(60), Site(most_requests=2) as site:
        first, second = await site.connect(REQUEST), await site.connect(REQUEST)
        for _ in range(2):
            await site.begun.acquire()
        refused = await site.get()
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        site.go_on.set()
        for reader in (first, second):
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        assert (await site.get()).status_code == 200


async def test_a_body_that_comes_in_parts_without_end_is_cut_off() -> None:
    class Slow(Site):
        async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
            while (await receive())["type"] != "http.disconnect":
                self.begun.release()

    async with asyncio.timeout(60), Slow(idle=60, body=0.2) as site:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")

        async def feed() -> None:
            while await site.begun.acquire():
                writer.write(b"x")

        writer.write(b"x")
        feeding = asyncio.ensure_future(feed())
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""  # closed, although a part came all the time
        feeding.cancel()
        writer.close()


async def test_requests_that_never_become_complete_do_not_count() -> None:
    async with asyncio.timeout(60), Site(most_requests=2) as site:
        for _ in range(5):
            await site.connect(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc")
            await site.begun.acquire()
        site.go_on.set()
        assert (await site.get()).text == "here"


async def test_the_requests_of_one_connection_share_their_facts_and_no_other_connection_has_them() -> None:
    seen: list[dict[str, Any]] = []

    class Noting(Site):
        async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
            seen.append(scope[CONNECTION])
            await PlainTextResponse("here")(scope, receive, send)

    async with asyncio.timeout(60), Noting() as site:
        async with httpx.AsyncClient() as client:
            for _ in range(2):
                await client.get(f"http://127.0.0.1:{site.port}/")
        await site.get()
    first, second, other = seen
    assert first is second
    assert first is not other
