"""Clients over streamable HTTP, on any revision: an ASGI application of one path."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from handraise.gateway.eras import is_modern
from handraise.gateway.home import Home
from handraise.gateway.legacy import LegacyRelay
from handraise.gateway.links import Link
from handraise.gateway.messages import Message, fault, read
from handraise.gateway.modern import ModernRelay
from handraise.gateway.relay import Relay
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


class Session:
    """A client that shook hands, and the stream on which it hears what belongs to no request."""

    def __init__(self, relay_for: Callable[[Exchange], Relay], hello: Message) -> None:
        self.id = secrets.token_urlsafe(24)
        self.stream = Exchange(hello)
        self.relay = relay_for(self.stream)
        self.following = False


class HttpGateway:
    """The application. `open_link` connects a client's person to the server: every session of its own."""

    def __init__(self, home: Home, open_link: Callable[[], Awaitable[Link]], path: str = "/mcp") -> None:
        self._home = home
        self._open_link = open_link
        self._path = path
        self._sessions: dict[str, Session] = {}
        self._modern: asyncio.Future[Relay] | None = None
        self._retiring: dict[asyncio.Future[None], Relay] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] != self._path:
            await _reply(send, 404, b"There is nothing here.\n", b"text/plain")
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        match scope["method"]:
            case "POST":
                await self._post(headers, receive, send)
            case "GET":
                await self._follow(headers, receive, send)
            case "DELETE":
                await self._delete(headers, send)
            case _:
                await _reply(send, 405, b"", b"text/plain")

    async def aclose(self) -> None:
        """Let every client's server go."""
        relays = [*(session.relay for session in self._sessions.values()), *self._retiring.values()]
        for retiring in list(self._retiring):
            retiring.cancel()
        if self._modern is not None:
            relays.append(await self._modern)
        self._sessions.clear()
        for relay in relays:
            await relay.aclose()

    async def _post(self, headers: dict[bytes, str], receive: Receive, send: Send) -> None:
        body = await _body(receive)
        if body is None:
            await _reply(send, 413, b"This is too long.\n", b"text/plain")
            return
        messages = list(read(body))
        if len(messages) != 1:
            await _send_error(send, 400, fault(None, -32700, "Parse error"))
            return
        message = messages[0]
        if is_modern(message) and message.method != "initialize":
            await self._exchange(await self._modern_relay(), message, receive, send, modern=True)
        elif message.method == "initialize":
            await self._begin(message, receive, send)
        elif (session := self._sessions.get(headers.get(b"mcp-session-id", ""))) is None:
            status = 404 if b"mcp-session-id" in headers else 400
            await _send_error(
                send, status, fault(message.id, -32600, "There is no such session; begin a new one.")
            )
        else:
            await self._exchange(session.relay, message, receive, send)

    async def _begin(self, message: Message, receive: Receive, send: Send) -> None:
        link = await self._open_link()
        session = Session(lambda port: LegacyRelay(link, self._home, port), message)
        self._sessions[session.id] = session
        await self._exchange(session.relay, message, receive, send, session=session.id)

    async def _modern_relay(self) -> Relay:
        """One relay for all requests without a session; they are told apart by their ids."""
        if self._modern is None:
            self._modern = asyncio.get_running_loop().create_future()
            link = await self._open_link()
            self._modern.set_result(ModernRelay(link, self._home, _Nowhere()))
        return await asyncio.shield(self._modern)

    async def _exchange(
        self,
        relay: Relay,
        message: Message,
        receive: Receive,
        send: Send,
        *,
        modern: bool = False,
        session: str | None = None,
    ) -> None:
        if not message.is_request:
            relay.from_client(message)
            await _reply(send, 202, b"", None)
            return
        exchange = Exchange(message)
        call = relay.from_client(message, exchange)
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            if (
                not await _answer(exchange, send, gone, modern=modern, session=session)
                and modern
                and call is not None
            ):
                relay.withdraw(call)  # on 2026-07-28 leaving is cancelling
        finally:
            gone.cancel()

    async def _follow(self, headers: dict[bytes, str], receive: Receive, send: Send) -> None:
        """The stream on which a session hears what belongs to no request."""
        session = self._sessions.get(headers.get(b"mcp-session-id", ""))
        if session is None or session.following:
            status = (
                405
                if session is None and b"mcp-session-id" not in headers
                else 404
                if session is None
                else 409
            )
            await _reply(send, status, b"", b"text/plain")
            return
        session.following = True
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await _start_stream(send, None)
            await _stream(session.stream, send, gone, None)
        finally:
            gone.cancel()
            session.following = False

    async def _delete(self, headers: dict[bytes, str], send: Send) -> None:
        session = self._sessions.pop(headers.get(b"mcp-session-id", ""), None)
        await _reply(send, 404 if session is None else 200, b"", None)
        if session is not None:
            retiring = asyncio.ensure_future(session.relay.retire())
            self._retiring[retiring] = session.relay
            retiring.add_done_callback(lambda done: self._retiring.pop(retiring, None))


class _Nowhere:
    """Where messages go that belong to no request, when there is nowhere to send them."""

    def send(self, message: Message) -> None:
        pass


async def _answer(
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
        await _reply(send, _status(message, modern=modern), message.raw, b"application/json", session)
        return True
    await _start_stream(send, session)
    return await _stream(exchange, send, gone, first)


async def _stream(
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


async def _body(receive: Receive) -> bytes | None:
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


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _start_stream(send: Send, session: str | None) -> None:
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]
    if session is not None:
        headers.append((b"mcp-session-id", session.encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def _send_error(send: Send, status: int, message: Message) -> None:
    await _reply(send, status, message.raw, b"application/json")


async def _reply(
    send: Send, status: int, body: bytes, kind: bytes | None, session: str | None = None
) -> None:
    headers = [(b"content-length", str(len(body)).encode())]
    if kind is not None:
        headers.append((b"content-type", kind))
    if session is not None:
        headers.append((b"mcp-session-id", session.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
