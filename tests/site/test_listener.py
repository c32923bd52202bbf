"""A listener serves this computer, on one port, until it is told to stop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2 as httpx
import pytest
from starlette.responses import PlainTextResponse

from handraise.errors import SetupError, UsageError
from handraise.site.listener import Listener

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
