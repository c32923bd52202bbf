"""Connections to servers over TLS: the same calls pass, and whoever nobody vouches for is not called."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.gateway.notes import make_notes
from tests.gateway.peers import connect
from tests.gateway.test_http import gateway_to, served
from tests.issuers.tls import Vouched, served_by_tls, vouch
from tests.server.peers import REVISIONS, Person, accept, text_of

from handraise.gateway.messages import Message, request
from handraise.gateway.servers import ServerSet
from handraise.gateway.upstreams import Upstream
from handraise.revisions import Revision

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W1")]


@pytest.fixture(scope="module")
def vouched(tmp_path_factory: pytest.TempPathFactory) -> Vouched:
    return vouch(tmp_path_factory.mktemp("tls"))


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
async def test_calls_and_questions_pass_over_tls(
    revision: str, vouched: Vouched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(vouched.authority))
    async with (
        served_by_tls(_own_name(make_notes()), vouched, "on") as url,
        gateway_to(Upstream("my notes", url=f"{url}/mcp"), []) as gateway,
        connect(gateway, Revision(revision), Person(accept(answer="old"))) as client,
    ):
        assert text_of(await client.call_tool("echo", {"text": "x" * 200_000})) == "x" * 200_000
        assert text_of(await client.call_tool("delete", {"title": "plans"})) == "deleted plans: old"


@pytest.mark.parametrize("how", ["nobody vouches for it", "it has another name", "it speaks no TLS"])
async def test_a_server_that_is_not_who_it_should_be_gets_nothing(
    how: str, vouched: Vouched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import httpx2
    from tests.gateway.test_shared import HELLO

    came: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        came.append(scope)

    trusted = vouch(tmp_path) if how == "nobody vouches for it" else vouched
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted.authority))
    opened: Any = served(app, "off") if how == "it speaks no TLS" else served_by_tls(app, vouched)
    async with opened as url:
        url = url.replace("http://", "https://")
        if how == "it has another name":
            url = url.replace("localhost", "localhost.localdomain")
            monkeypatch.setattr("asyncio.base_events.BaseEventLoop.getaddrinfo", _this_computer)
        async with gateway_to(Upstream("x", url=url), []) as gateway, httpx2.AsyncClient() as http:
            told = (await http.post(gateway, json=HELLO)).json()
    assert "could not be reached" in told["error"]["message"]
    assert not came


async def _this_computer(self: Any, host: str, port: int, **more: Any) -> Any:
    import socket

    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


def _own_name(server: Any) -> Any:
    from mcp.server.transport_security import TransportSecuritySettings

    return server.streamable_http_app(
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False)
    )


async def test_a_header_that_would_be_two_is_not_sent() -> None:
    import httpx2
    from tests.gateway.test_shared import HELLO

    upstream = Upstream("x", url="http://127.0.0.1:9/mcp", headers={"x-key": "a\r\nx-other: b"})
    async with gateway_to(upstream, []) as gateway, httpx2.AsyncClient() as http:
        told = (await http.post(gateway, json=HELLO)).json()
    assert "could not be reached" in told["error"]["message"]


@asynccontextmanager
async def forward_proxy() -> AsyncIterator[tuple[str, list[str]]]:
    """A proxy as companies have one: its address, and the hosts to which it was asked to go."""
    went: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        place = urlsplit(target if method != "CONNECT" else f"//{target}")
        went.append(f"{method} {place.netloc}")
        onward = await asyncio.open_connection(place.hostname, place.port)
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            onward[1].write(head.replace(target.encode(), (place.path or "/").encode(), 1))
        pipes = [
            asyncio.ensure_future(_pipe(reader, onward[1])),
            asyncio.ensure_future(_pipe(onward[0], writer)),
        ]
        await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
        for each in pipes:
            each.cancel()
        await asyncio.gather(*pipes, return_exceptions=True)
        for end in (writer, onward[1]):
            end.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", went
    finally:
        server.close()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(65536):
        writer.write(chunk)
        await writer.drain()


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https with an authority of our own"])
async def test_a_server_behind_a_forward_proxy_is_reached(
    tls: bool, vouched: Vouched, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _own_name(make_notes())
    opened: Any = served_by_tls(app, vouched, "on") if tls else served(app, "on")
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    async with forward_proxy() as (proxy, went), opened as url:
        monkeypatch.setenv("SSL_CERT_FILE", str(vouched.authority))
        monkeypatch.setenv("HTTPS_PROXY" if tls else "HTTP_PROXY", proxy)
        place = urlsplit(url)
        link = await ServerSet(Upstream("my notes", url=f"{place.scheme}://{place.netloc}/mcp")).connect()
        heard: asyncio.Queue[Message] = asyncio.Queue()
        link.on_message = heard.put_nowait
        link.send(request(1, "initialize", hello))
        assert ((await heard.get()).result or {})["serverInfo"]["name"] == "notes"
        link.send(request(2, "tools/call", {"name": "echo", "arguments": {"text": "through"}}))
        async with asyncio.timeout(60):
            while (told := await heard.get()).id != 2:
                pass
        assert (told.result or {})["content"][0]["text"] == "through"
        await link.aclose()
    assert {each.partition(" ")[2] for each in went} == {place.netloc}
