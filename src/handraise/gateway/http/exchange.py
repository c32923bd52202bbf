"""One HTTP exchange: read a request, and answer with JSON or a stream of events."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from handraise.gateway.http.events import dump_event
from handraise.gateway.json_text import LONGEST
from handraise.gateway.messages import Message, too_long

logger = logging.getLogger(__name__)

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_WAITING: Final = 64 * 1024 * 1024
"""Bytes that wait for a client that does not read, before more is dropped."""
MOMENT: Final = 0.05
"""Seconds before we watch for the client's disconnect. Most calls end earlier, and watching costs time."""
HEARTBEAT: Final = 15.0
_STATUS: Final = {-32700: 400, -32600: 400, -32602: 400, -32001: 400, -32021: 400, -32022: 400, -32601: 404}
"""The HTTP status for an error on 2026-07-28."""


class Exchange:
    """The answer to one POST, as a port for the messages of its request."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self._out: deque[Message] = deque()
        self._size = 0
        self._wanted: asyncio.Future[Message | None] | None = None

    def send(self, message: Message) -> None:
        if self._wanted is not None and not self._wanted.done():
            self._wanted.set_result(message)
        elif self._size + len(message.raw) <= MAX_WAITING or self.is_end(message):
            self._out.append(message)
            self._size += len(message.raw)
        else:
            logger.warning("a client reads nothing: %s was dropped", message.method)

    async def soon(self, seconds: float) -> Message | None:
        """The next message to send; None if none comes within `seconds`."""
        if self._out:
            return self._first_out()
        self._wanted = asyncio.get_running_loop().create_future()
        timer = asyncio.get_running_loop().call_later(seconds, _give_up, self._wanted)
        try:
            return await self._wanted
        finally:
            timer.cancel()

    def next(self) -> asyncio.Future[Message]:
        """The next message to send."""
        wanted: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._wanted = wanted
        if self._out:
            wanted.set_result(self._first_out())
        return wanted

    def _first_out(self) -> Message:
        message = self._out.popleft()
        self._size -= len(message.raw)
        return message

    def is_end(self, message: Message) -> bool:
        """Whether a message is the response, which is the last message."""
        return message.method is None and message.id == self.message.id


async def answer(
    exchange: Exchange, receive: Receive, send: Send, *, modern: bool, session: str | None
) -> bool:
    """Answer a POST: with JSON if the response comes first, else with a stream. False when the client left before."""
    early = await exchange.soon(MOMENT)
    if early is not None and exchange.is_end(early):
        await _reply_with(early, send, modern=modern, session=session)
        return True
    gone = asyncio.ensure_future(disconnected(receive))
    first = exchange.next() if early is None else _known(early)
    try:
        return await _answer_later(exchange, first, send, gone, modern=modern, session=session)
    finally:
        gone.cancel()


def _give_up(wanted: asyncio.Future[Message | None]) -> None:
    if not wanted.done():
        wanted.set_result(None)


def _known(message: Message) -> asyncio.Future[Message]:
    known: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
    known.set_result(message)
    return known


async def _answer_later(
    exchange: Exchange,
    first: asyncio.Future[Message],
    send: Send,
    gone: asyncio.Future[None],
    *,
    modern: bool,
    session: str | None,
) -> bool:
    both: set[asyncio.Future[Any]] = {first, gone}
    done, _ = await asyncio.wait(both, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
    if gone in done:
        first.cancel()
        return False
    if first in done and exchange.is_end(first.result()):
        await _reply_with(first.result(), send, modern=modern, session=session)
        return True
    await start_stream(send, session)
    return await stream(exchange, send, gone, first)


async def stream(
    exchange: Exchange, send: Send, gone: asyncio.Future[None], following: asyncio.Future[Message] | None
) -> bool:
    """Send messages as events until the response; False when the client left before."""
    following = following or exchange.next()
    try:
        while True:
            both: set[asyncio.Future[Any]] = {following, gone}
            done, _ = await asyncio.wait(both, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
            if gone in done:
                return False
            if following not in done:
                await send({"type": "http.response.body", "body": b": still here\r\n\r\n", "more_body": True})
                continue
            message = following.result()
            over = exchange.is_end(message)
            await send({"type": "http.response.body", "body": dump_event(message.raw), "more_body": not over})
            if over:
                return True
            following = exchange.next()
    finally:
        following.cancel()


async def _reply_with(message: Message, send: Send, *, modern: bool, session: str | None) -> None:
    await reply(send, _status(message, modern=modern), message.raw, b"application/json", session)


def _status(message: Message, *, modern: bool) -> int:
    if message.status is not None:
        return message.status
    error = message.body.get("error") if modern and message.result is None else None
    return _STATUS.get(error.get("code", 0), 200) if isinstance(error, dict) else 200


async def read_body(receive: Receive) -> bytes:
    """The body of a request. `Unreadable` over the size limit."""
    parts, size, more = [], 0, True
    while more:
        event = await receive()
        if event["type"] != "http.request":
            return b""
        parts.append(event.get("body", b""))
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
