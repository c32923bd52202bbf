"""A listener serves this computer, on one port, until it is told to stop. Silent connections make room for others."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2 as httpx
import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from tests.server.peers import free_port
from tests.waiting import until

from handraise.errors import SetupError, UsageError
from handraise.site.listener import (
    CONNECTION,
    BoundedConnections,
    BoundedProtocol,
    Listener,
    TemporaryListener,
)

APP = PlainTextResponse("here")
HALF = {
    "silent": b"",
    "half a line": b"GET /",
    "half a head": b"GET / HTTP/1.1\r\nHost: x\r\n",
    "half a body": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc",
    "half a chunked body": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    "half a second request": b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /",
}


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_it_is_reached_once_it_started_and_not_after_it_stopped(host: str) -> None:
    listener = Listener("The site", host)
    with pytest.raises(UsageError, match="start it first"):
        _ = listener.base_url
    await listener.start(APP)
    assert listener.is_running
    async with httpx.AsyncClient() as client:
        assert (await client.get(listener.base_url)).text == "here"
        with pytest.raises(UsageError, match="running already"):
            await listener.start(APP)
        await listener.stop()
        await listener.stop()
        assert not listener.is_running
        with pytest.raises(httpx.ConnectError):
            await client.get(listener.base_url)


@pytest.mark.shows("L10")
@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.1", "localhost.evil.example"])
def test_it_serves_no_other_computer(host: str) -> None:
    with pytest.raises(SetupError, match="this computer only"):
        Listener("The site", host)


async def test_a_port_that_is_taken_is_told_with_its_name() -> None:
    first = Listener("The first")
    await first.start(APP)
    second = Listener("The second", port=first.port)
    with pytest.raises(SetupError, match="The second cannot listen"):
        await second.start(APP)
    await first.stop()


async def test_a_header_does_not_change_where_a_request_comes_from() -> None:
    seen: list[object] = []

    async def app(scope: object, receive: object, send: object) -> None:
        seen.append(scope["client"][0])  # type: ignore[index]
        await APP(scope, receive, send)  # type: ignore[arg-type]

    listener = Listener("The site")
    await listener.start(app)
    async with httpx.AsyncClient() as client:
        await client.get(listener.base_url, headers={"x-forwarded-for": "10.9.8.7"})
    await listener.stop()
    assert seen == ["127.0.0.1"]


@pytest.mark.shows("W9b")
async def test_as_localhost_it_has_both_addresses_so_that_nobody_else_gets_its_links() -> None:
    listener = Listener("The site", as_localhost=True)
    await listener.start(APP)
    assert listener.base_url == f"http://localhost:{listener.port}"
    async with httpx.AsyncClient() as client:
        for host in ("127.0.0.1", "[::1]", "localhost"):
            assert (await client.get(f"http://{host}:{listener.port}")).text == "here"
    with socket.socket(socket.AF_INET6) as squatter, pytest.raises(OSError, match="in use"):
        squatter.bind(("::1", listener.port))
    await listener.stop()


@pytest.mark.shows("W9b")
async def test_as_localhost_it_does_not_start_where_somebody_has_the_other_address() -> None:
    with socket.socket(socket.AF_INET6) as squatter:
        squatter.bind(("::1", 0))
        squatter.listen()
        port = squatter.getsockname()[1]
        with pytest.raises(SetupError, match=f"::1, port {port}"):
            await Listener("The site", port=port, as_localhost=True).start(APP)
        with socket.socket() as free:
            free.bind(("127.0.0.1", port))  # and it gave back the one that it had


async def reading(scope: Any, receive: Any, send: Any) -> None:
    """An application that wants the whole body."""
    while (message := await receive())["type"] == "http.request" and message["more_body"]:
        pass
    if message["type"] == "http.request":
        await APP(scope, receive, send)


@asynccontextmanager
async def half_open(port: int, many: int, sent: bytes) -> AsyncIterator[list[asyncio.StreamReader]]:
    """Connections on which something is missing."""
    opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(many)]
    for _, writer in opened:
        with suppress(ConnectionError):  # on a busy machine it is closed by now
            writer.write(sent)
            await writer.drain()
    try:
        yield [reader for reader, _ in opened]
    finally:
        for _, writer in opened:
            writer.close()


half_sent = pytest.mark.parametrize("sent", HALF.values(), ids=HALF)


@pytest.mark.shows("W7")
@half_sent
async def test_half_open_connections_keep_nobody_out(sent: bytes) -> None:
    listener = Listener("The site", idle=600)
    await listener.start(reading)
    async with asyncio.timeout(60), half_open(listener.port, 300, sent), httpx.AsyncClient() as client:
        assert (await client.get(listener.base_url)).text == "here"
    await listener.stop()


@pytest.mark.shows("W7")
@half_sent
async def test_half_open_connections_are_closed(sent: bytes) -> None:
    listener = Listener("The site", idle=0.1)
    await listener.start(reading)
    async with asyncio.timeout(60), half_open(listener.port, 3, sent) as readers:
        for reader in readers:
            with suppress(ConnectionError):
                await reader.read()  # to its end
    await listener.stop()


async def test_a_connection_is_not_closed_while_its_request_is_answered() -> None:
    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.wait([asyncio.ensure_future(receive_all(receive))], timeout=0.5)
        await APP(scope, receive, send)

    async def receive_all(receive: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    listener = Listener("The site", idle=0.1)
    await listener.start(slow)
    async with httpx.AsyncClient() as client:
        assert (await client.post(listener.base_url, content=b"x" * 100_000)).text == "here"
    await listener.stop()


async def test_a_body_that_comes_slowly_is_read_to_its_end() -> None:
    async def slowly() -> AsyncIterator[bytes]:
        for _ in range(12):
            yield b"x"
            await asyncio.sleep(0.1)

    listener = Listener("The site", idle=1)
    await listener.start(reading)
    async with httpx.AsyncClient() as client:
        assert (await client.post(listener.base_url, content=slowly())).text == "here"
    await listener.stop()


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


@pytest.mark.shows("L10")
async def test_pages_are_reached_while_one_waits_and_again_when_the_next_one_does() -> None:
    looks: list[bool] = []
    needed = True

    def is_needed() -> bool:
        looks.append(needed)
        return needed

    pages = TemporaryListener(lambda: APP, is_needed, idle=0.01)
    async with httpx.AsyncClient() as client:
        for _ in range(2):
            looks.clear()
            needed = True
            await pages.ensure()
            await pages.ensure()
            await until(lambda: len(looks) > 1)
            assert (await client.get(pages.listener.base_url)).text == "here"
            needed = False
            await until(lambda: not pages.listener.is_running)
    await pages.close()


@pytest.mark.shows("L10")
@pytest.mark.parametrize("stopping", [False, True], ids=["a page waits", "it stops by itself just then"])
async def test_pages_that_are_closed_leave_nothing_behind(stopping: bool) -> None:
    before = asyncio.all_tasks()
    entered, looked = asyncio.Event(), asyncio.Event()

    async def lingering(scope: Any, receive: Any, send: Any) -> None:
        entered.set()
        while (await receive())["type"] != "http.disconnect":
            pass  # a listener that stops waits for this

    def is_needed() -> bool:
        looked.set()
        return not stopping

    pages = TemporaryListener(lambda: lingering, is_needed, idle=0.05)
    await pages.ensure()
    _, writer = await asyncio.open_connection("127.0.0.1", pages.listener.port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await entered.wait()
    await looked.wait()
    asyncio.get_running_loop().call_soon(writer.close)
    await pages.close()
    assert not pages.listener.is_running
    left = {task.get_name() for task in asyncio.all_tasks() - before}
    assert "handraise: idle pages" not in left
