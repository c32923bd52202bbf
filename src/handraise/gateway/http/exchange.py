"""One HTTP exchange: read a request, and answer with JSON or a stream of events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeAlias

from handraise.gateway.json_text import LONGEST
from handraise.gateway.messages import Message, too_long

logger = logging.getLogger(__name__)

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_WAITING: Final = 64 * 1024 * 1024
"""Bytes that wait for a client that does not read, before more is dropped."""
HEARTBEAT: Final = 15.0
_STATUS: Final = {-32700: 400, -32600: 400, -32602: 400, -32001: 400, -32021: 400, -32022: 400, -32601: 404}
"""The HTTP status for an error on 2026-07-28."""


class ClientLeft(Exception):
    """The client disconnected before it had the response."""


class Exchange:
    """The answer to one POST, as a port for the messages of its request."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self._out: asyncio.Queue[Message] = asyncio.Queue()
        self._size = 0

    def send(self, message: Message) -> None:
        if self._size + len(message.raw) <= MAX_WAITING or self.is_end(message):
            self._out.put_nowait(message)
            self._size += len(message.raw)
        else:
            logger.warning("a client reads nothing: %s was dropped", message.method)

    async def next(self) -> Message:
        """The next message to send."""
        message = await self._out.get()
        self._size -= len(message.raw)
        return message

    def is_end(self, message: Message) -> bool:
        """Whether a message is the response, which is the last message."""
        return message.method is None and message.id == self.message.id


async def answer(
    exchange: Exchange, receive: Receive, send: Send, *, modern: bool, session: str | None
) -> bool:
    """Answer a POST: with JSON if the response comes first, else with a stream. False when the client left before."""
    async with _reading(exchange, receive) as outgoing:
        try:
            first = await outgoing.next()
            if first is not None and exchange.is_end(first):
                await reply(send, _status(first, modern=modern), first.raw, b"application/json", session)
                return True
            await start_stream(send, session)
            await _send_events(exchange, outgoing, send, first)
        except ClientLeft:
            return False
    return True


async def stream(exchange: Exchange, receive: Receive, send: Send) -> None:
    """Send messages as events until the client leaves."""
    async with _reading(exchange, receive) as outgoing:
        with suppress(ClientLeft):
            await start_stream(send, None)
            await _send_events(exchange, outgoing, send, await outgoing.next())


class _Outgoing:
    """The messages of an exchange one by one, while its client is there."""

    def __init__(self, exchange: Exchange, gone: asyncio.Future[None]) -> None:
        self._exchange = exchange
        self._gone = gone
        self.following: asyncio.Future[Message] | None = None

    async def next(self) -> Message | None:
        """The next message; None for a heartbeat, because none came for a while. `ClientLeft` when nobody reads."""
        self.following = self.following or asyncio.ensure_future(self._exchange.next())
        both: set[asyncio.Future[Any]] = {self.following, self._gone}
        await asyncio.wait(both, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
        if self._gone.done():
            raise ClientLeft
        if not self.following.done():
            return None
        message, self.following = self.following.result(), None
        return message


@asynccontextmanager
async def _reading(exchange: Exchange, receive: Receive) -> AsyncIterator[_Outgoing]:
    gone = asyncio.ensure_future(disconnected(receive))
    outgoing = _Outgoing(exchange, gone)
    try:
        yield outgoing
    finally:
        gone.cancel()
        if outgoing.following is not None:
            outgoing.following.cancel()


async def _send_events(exchange: Exchange, outgoing: _Outgoing, send: Send, message: Message | None) -> None:
    """Send this message and all that follow as events, until the response."""
    while True:
        over = message is not None and exchange.is_end(message)
        event = b": still here\r\n\r\n" if message is None else dump_event(message.raw)
        await send({"type": "http.response.body", "body": event, "more_body": not over})
        if over:
            return
        message = await outgoing.next()


def dump_event(data: bytes) -> bytes:
    """A message as an event. Our messages have no line feed."""
    return b"event: message\r\ndata: " + data + b"\r\n\r\n"


def _status(message: Message, *, modern: bool) -> int:
    if message.status is not None:
        return message.status
    error = message.body.get("error") if modern and message.result is None else None
    return _STATUS.get(error.get("code", 0), 200) if isinstance(error, dict) else 200


async def read_body(receive: Receive, took: Callable[[int], None] = lambda size: None) -> bytes:
    """The body of a request. `Unreadable` over the size limit. `took` gets the size of each part."""
    parts, size, more = [], 0, True
    while more:
        event = await receive()
        if event["type"] != "http.request":
            return b""
        parts.append(event.get("body", b""))
        took(len(parts[-1]))
        size += len(parts[-1])
        if size > LONGEST:
            raise too_long(parts[0])
        more = event.get("more_body", False)
    return b"".join(parts)


async def disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def start_stream(send: Send, session: str | None) -> None:
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]
    if session is not None:
        headers.append((b"mcp-session-id", session.encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def send_error(send: Send, status: int, message: Message) -> None:
    await reply(send, status, message.raw, b"application/json")


async def reply(send: Send, status: int, body: bytes, kind: bytes | None, session: str | None = None) -> None:
    headers = [(b"content-length", str(len(body)).encode())]
    if kind is not None:
        headers.append((b"content-type", kind))
    if session is not None:
        headers.append((b"mcp-session-id", session.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
