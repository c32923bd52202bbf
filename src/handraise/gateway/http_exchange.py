"""One exchange over HTTP: a request is read, and answered plainly or with a stream of events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from handraise.gateway.messages import Message
from handraise.gateway.sse import dump_event

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_BODY: Final = 16 * 1024 * 1024
HEARTBEAT: Final = 15.0
_STATUS: Final = {-32700: 400, -32600: 400, -32602: 400, -32001: 400, -32021: 400, -32022: 400, -32601: 404}
"""The HTTP status for an error on 2026-07-28."""


class Exchange:
    """The answer to one POST: a port that its request's messages go to."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self._out: asyncio.Queue[Message] = asyncio.Queue()

    def send(self, message: Message) -> None:
        self._out.put_nowait(message)

    async def next(self) -> Message:
        """What is to be sent next."""
        return await self._out.get()

    def is_end(self, message: Message) -> bool:
        """Whether a message is the response, after which nothing comes."""
        return message.method is None and message.id == self.message.id


async def answer(
    exchange: Exchange, send: Send, gone: asyncio.Future[None], *, modern: bool, session: str | None
) -> bool:
    """Answer a POST: plainly when the response comes first, else with a stream; False when the client left before."""
    first = asyncio.ensure_future(exchange.next())
    both: set[asyncio.Future[Any]] = {first, gone}
    done, _ = await asyncio.wait(both, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
    if gone in done:
        first.cancel()
        return False
    if first in done and exchange.is_end(message := first.result()):
        await reply(send, _status(message, modern=modern), message.raw, b"application/json", session)
        return True
    await start_stream(send, session)
    return await stream(exchange, send, gone, first)


async def stream(
    exchange: Exchange, send: Send, gone: asyncio.Future[None], following: asyncio.Future[Message] | None
) -> bool:
    """Send what comes as events, until the response; False when the client left before."""
    following = following or asyncio.ensure_future(exchange.next())
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
            following = asyncio.ensure_future(exchange.next())
    finally:
        following.cancel()


def _status(message: Message, *, modern: bool) -> int:
    if message.status is not None:
        return message.status
    error = message.body.get("error") if modern and message.result is None else None
    return _STATUS.get(error.get("code", 0), 200) if isinstance(error, dict) else 200


async def read_body(receive: Receive) -> bytes | None:
    """The body of a request; None when it is too long."""
    parts, size, more = [], 0, True
    while more:
        event = await receive()
        if event["type"] != "http.request":
            return b""
        parts.append(event.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY:
            return None
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
