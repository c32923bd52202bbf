"""Serving until told to end: where, from when on, and how it ends for who is connected."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from tests.site.test_listener import HALF, half_open, reading

from handraise.errors import SetupError
from handraise.gateway.http.exchange import disconnected, start_stream
from handraise.gateway.http.serving import listen, serve_until_told
from handraise.gateway.options import Options
from handraise.gateway.state import GatewayState


@pytest.mark.parametrize(("host", "written"), [("127.0.0.1", "127.0.0.1:{}"), ("localhost", "localhost:{}")])
def test_any_free_port_is_taken_and_told_at_every_address_of_the_host(host: str, written: str) -> None:
    listening = listen(host, 0)
    try:
        assert listening.port
        assert listening.address == written.format(listening.port)
        assert {each.getsockname()[1] for each in listening.sockets} == {listening.port}
    finally:
        for each in listening.sockets:
            each.close()


def test_where_somebody_else_listens_it_is_said_in_words_and_nothing_is_left_open() -> None:
    listening = listen("127.0.0.1", 0)
    try:
        with pytest.raises(SetupError, match=f"127.0.0.1:{listening.port}: Address already in use; choose"):
            listen("127.0.0.1", listening.port)
    finally:
        for each in listening.sockets:
            each.close()


@pytest.mark.anyio
async def test_who_follows_a_stream_is_hung_up_on_when_it_ends_and_nothing_counts_as_a_failure(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("handraise.gateway.http.serving._GRACE", 0.05)
    told: list[str] = []
    listening = listen("127.0.0.1", 0)
    async with asyncio.timeout(60):
        serving = asyncio.ensure_future(
            serve_until_told(_news, listening, GatewayState(Options()), told.append)
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", listening.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        assert told == [listening.address]
        os.kill(os.getpid(), signal.SIGTERM)
        await serving
        await reader.read()  # to its end
        writer.close()
    assert capfd.readouterr().err == ""


async def _news(scope: Any, receive: Any, send: Any) -> None:
    """An application that has news for as long as somebody follows it."""
    await start_stream(send, None)
    await disconnected(receive)


@pytest.mark.anyio
@pytest.mark.shows("W7")
async def test_half_open_connections_keep_no_client_out() -> None:
    async with (
        asyncio.timeout(60),
        _serving(idle=600) as port,
        half_open(port, 300, HALF["half a head"]),
        httpx2.AsyncClient(timeout=60) as client,
    ):
        assert (await client.get(f"http://127.0.0.1:{port}/")).text == "here"


@pytest.mark.anyio
@pytest.mark.shows("W7")
async def test_half_open_connections_are_closed() -> None:
    sent = HALF["half a body"]
    async with asyncio.timeout(60), _serving(idle=0.1) as port, half_open(port, 3, sent) as readers:
        for reader in readers:
            with contextlib.suppress(ConnectionError):
                await reader.read()  # to its end


@asynccontextmanager
async def _serving(idle: float) -> AsyncIterator[int]:
    """The port of a gateway's listener, until the end."""
    listening, ready = listen("127.0.0.1", 0), asyncio.Event()
    serving = asyncio.ensure_future(
        serve_until_told(reading, listening, GatewayState(Options()), lambda _: ready.set(), idle=idle)
    )
    await ready.wait()
    yield listening.port
    os.kill(os.getpid(), signal.SIGTERM)
    await serving
