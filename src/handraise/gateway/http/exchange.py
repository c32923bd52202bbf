"""One HTTP exchange: read a request, and answer with JSON or a stream of events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import aclosing
from typing import Any, Final, TypeAlias

from handraise.gateway.json_text import LONGEST
from handraise.gateway.messages import Message
from handraise.gateway.reading import too_long

logger = logging.getLogger(__name__)

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_WAITING: Final = LONGEST
"""Bytes that wait for a client that does not read, before more is dropped. One message may be longer."""
HEARTBEAT: Final = 15.0
_STATUS: Final = {-32700: 400, -32600: 400, -32602: 400, -32001: 400, -32021: 400, -32022: 400, -32601: 404}
"""The HTTP status for an error on 2026-07-28."""


class Exchange:
    """The answer to one POST, as a port for the messages of its request."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self._out: asyncio.Queue[Message] = asyncio.Queue()
        self._size = 0
        self._dropped = False
        self.left = False
        """Whether its client left, so that nobody reads what comes."""

    def send(self, message: Message) -> None:
        if self.left:
            return
        if not self._size or self._size + len(message.raw) <= MAX_WAITING or self.is_end(message):
            self._out.put_nowait(message)
            self._size += len(message.raw)
            self._dropped = False
        elif not self._dropped:  # the attack: a server fills the log
            self._dropped = True
            logger.warning("a client reads nothing: %s is dropped, and more", message.method)

    async def next(self) -> Message:
        """The next message to send."""
        message = await self._out.get()
        self._size -= len(message.raw)
        return message

    def is_end(self, message: Message) -> bool:
        """Whether a message is the response, which is the last message."""
        return message.method is None and message.id == self.message.id


async def answer(
    exchange: Exchange,
    receive: Receive,
    send: Send,
    *,
    modern: bool = False,
    session: str | None = None,
    stream: bool = False,
) -> bool:
    """Answer a POST: with JSON if the response comes first, else with a stream of events until the response.

    `stream`: begin the stream at once. False when the client left before the response.
    """
    if stream:
        await start_stream(send, session)
    async with aclosing(_messages(exchange, receive)) as messages:
        async for message in messages:
            over = message is not None and exchange.is_end(message)
            if message is not None and over and not stream:
                status = _status(message, modern=modern)
                await reply(send, status, message.raw, b"application/json", session)
                return True
            if not stream:
                stream = True
                await start_stream(send, session)
            event = b": still here\r\n\r\n" if message is None else dump_event(message.raw)
            await send({"type": "http.response.body", "body": event, "more_body": not over})
            if over:
                return True
    return False


async def _messages(exchange: Exchange, receive: Receive) -> AsyncGenerator[Message | None]:
    """The messages of an exchange while its client is there; None for a heartbeat when none came for a while."""
    gone = asyncio.ensure_future(disconnected(receive))
    following: asyncio.Future[Message] | None = None
    try:
        while True:
            following = following or asyncio.ensure_future(exchange.next())
            both: set[asyncio.Future[Any]] = {following, gone}
            await asyncio.wait(both, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                return
            message = None
            if following.done():
                message, following = following.result(), None
            yield message
    finally:
        gone.cancel()
        if following is not None:
            following.cancel()


def dump_event(data: bytes) -> bytes:
    """A message as an event. Our messages have no line feed."""
    return b"event: message\r\ndata: " + data + b"\r\n\r\n"


def _status(message: Message, *, modern: bool) -> int:
    if message.status is not None:
        return message.status
    return _STATUS.get(message.error.get("code", 0), 200) if modern and message.result is None else 200


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
