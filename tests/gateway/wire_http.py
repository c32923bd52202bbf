"""The client and the server of `wire`, with streamable HTTP in front of the gateway and behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from tests.gateway.test_http import served
from tests.gateway.wire import WireClient, WireServer

from handraise.gateway.http.events import Events
from handraise.gateway.http.exchange import disconnected, dump_event, read_body, reply, start_stream
from handraise.gateway.http.headers import headers_for
from handraise.gateway.http.server import HttpGateway
from handraise.gateway.links import Link
from handraise.gateway.messages import SUBSCRIPTION_KEY, Id, Message, id_key, notice
from handraise.gateway.peers import MODERN
from handraise.gateway.reading import parse_message
from handraise.gateway.servers import ServerSet
from handraise.gateway.upstreams import Upstream


class HttpWireServer(WireServer):
    """A server at a URL. What it says goes on the stream of the request that it belongs to, or on the standing one."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._streams: dict[Id, asyncio.Queue[Message]] = {}
        self._standing: asyncio.Queue[Message] = asyncio.Queue()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] != "POST":
            if scope["method"] == "GET" and not self.modern:
                await self._stream(self._standing, "", receive, send)
            else:
                await reply(send, 200 if scope["method"] == "DELETE" else 405, b"", None)
            return
        message = parse_message(await read_body(receive) or b"")
        if (hello := self.hello(message)) is not None:
            await reply(send, 200, hello.raw, b"application/json")
        elif not message.is_request:
            self.got.append(message)
            await reply(send, 202, b"", None)
        else:
            self._streams[id_key(message.id)] = asyncio.Queue()
            self.got.append(message)
            await self._stream(self._streams[id_key(message.id)], id_key(message.id), receive, send)

    async def _stream(self, said: asyncio.Queue[Message], id: Id, receive: Any, send: Any) -> None:
        await start_stream(send, None)
        gone = asyncio.ensure_future(disconnected(receive))
        while True:
            following = asyncio.ensure_future(said.get())
            await asyncio.wait({gone, following}, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                following.cancel()
                if self._streams.pop(id, None) is not None:
                    self.got.append(notice("notifications/cancelled", {"requestId": id}))
                return
            message = following.result()
            over = message.method is None
            await send({"type": "http.response.body", "body": dump_event(message.raw), "more_body": not over})
            if over:
                gone.cancel()
                return

    def say(self, message: Message) -> None:
        meta = message.params.get("_meta") or {}
        if message.method is None:
            self._streams.pop(id_key(message.id)).put_nowait(message)
        elif SUBSCRIPTION_KEY in meta:
            self._streams[meta[SUBSCRIPTION_KEY]].put_nowait(message)
        else:
            (list(self._streams.values()) or [self._standing])[-1].put_nowait(message)


class HttpWireClient(WireClient):
    """A client that reaches the gateway at a URL."""

    server: HttpWireServer
    app: HttpGateway

    def connect(self, server: HttpWireServer, url: str, http: httpx2.AsyncClient) -> None:
        self.server = server
        self.url = url
        self._http = http
        self.session: str | None = None
        self._posting: dict[Id, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def say(self, message: Message) -> None:
        if self.modern and message.method == "notifications/cancelled":
            self._posting[message.params["requestId"]].cancel()
            return
        task = self._run("POST", message)
        if message.is_request:
            self._posting[id_key(message.id)] = task
        if message.method == "notifications/initialized":
            self._run("GET", None)

    def _run(self, method: str, message: Message | None) -> asyncio.Task[None]:
        task = asyncio.create_task(self._exchange(method, message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _exchange(self, method: str, message: Message | None) -> None:
        headers = headers_for(message, {}, self.session, MODERN if self.modern else self.legacy, {})
        content = None if message is None else message.raw
        async with self._http.stream(method, self.url, content=content, headers=headers) as answer:
            self.session = answer.headers.get("mcp-session-id", self.session)
            if answer.headers.get("content-type") != "text/event-stream":
                if body := await answer.aread():
                    self.got.append(parse_message(body))
                return
            events = Events()
            async for chunk in answer.aiter_bytes():
                self.got += [parse_message(event.data) for event in events.feed(chunk)]

    async def leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def over_http(
    *, behind: bool, kind: type[HttpWireServer] = HttpWireServer, **options: Any
) -> AsyncIterator[HttpWireClient]:
    """A client that knows its server, with HTTP on both sides of the gateway."""
    client = HttpWireClient(behind=behind, **options)
    server = kind(modern=behind, legacy=client.legacy)
    async with served(server, "off") as target, httpx2.AsyncClient(timeout=30) as http:

        async def opened(person: object) -> Link:
            return await ServerSet(Upstream("my notes", url=target)).connect()

        client.app = app = HttpGateway(client.state, opened)
        async with served(app, "off") as url:
            client.connect(server, url, http)
            try:
                await client.begin()
                yield client
            finally:
                await client.leave()
                await app.aclose()
