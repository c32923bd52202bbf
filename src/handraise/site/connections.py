"""Keep a web server within reach while somebody opens connections and sends nothing, or half a request, on them.

uvicorn has no time limit for a request that never becomes complete, and its own limit counts connections: a few hundred
silent ones would turn everybody away. Here a connection without a complete request is closed when nothing comes for
some seconds, and when there are too many of these, the oldest makes room for the new one. Only complete requests count
towards the limit above which a request is turned away.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

IDLE: Final = 10.0
"""Seconds after which a connection is closed on which no request, and no part of one, came."""
BODY: Final = 120.0
"""Seconds after which a connection is closed whose request is still not complete, however often a part of it came."""
MOST_IDLE: Final = 200
"""How many connections may be without a complete request."""
MOST_REQUESTS: Final = 200
"""How many complete requests are served at once."""
CONNECTION: Final = "handraise.connection"
"""The key in the scope for a dictionary that all requests of one connection share, and no other connection has."""


class BoundedConnections:
    """An application whose connections are bounded: `uvicorn.Config(Connections(app), http=Watched, ws="none")`."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        protocol: type[H11Protocol] = H11Protocol,
        idle: float = IDLE,
        body: float = BODY,
        most_idle: int = MOST_IDLE,
        most_requests: int = MOST_REQUESTS,
    ) -> None:
        self.protocol = protocol
        self._app = app
        self._idle = idle
        self._body = body
        self._most_idle = most_idle
        self._most_requests = most_requests
        self._requests = 0
        self._open: dict[object, BoundedProtocol] = {}
        self._waiting: dict[BoundedProtocol, None] = {}
        """The connections without a complete request, the oldest first."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if self._requests >= self._most_requests:
            await _turn_away(send)
            return
        connection = self._open.get((scope["client"], scope["server"]))
        is_complete = not _has_body(scope)
        latest = asyncio.get_running_loop().time() + self._body

        async def receive_part() -> Message:
            nonlocal is_complete
            message = await receive()
            if not is_complete and message.get("more_body") and connection is not None:
                left = latest - asyncio.get_running_loop().time()
                connection.wait(min(self._idle, left))  # more is on its way
            elif not is_complete:
                is_complete = True
                self._begin(connection)
            return message

        if is_complete:
            self._begin(connection)
        try:
            facts = {} if connection is None else connection.facts
            await self._app({**scope, CONNECTION: facts}, receive_part, send)
        finally:
            self._requests -= is_complete
            if connection is not None:
                self.wait(connection)

    def add(self, connection: BoundedProtocol) -> None:
        """Watch a new connection. When too many are without a request, the oldest of them is closed."""
        self._open[connection.ends] = connection
        self.wait(connection)
        if len(self._waiting) > self._most_idle:
            oldest = next(iter(self._waiting))
            self.remove(oldest)
            oldest.abort()

    def wait(self, connection: BoundedProtocol) -> None:
        """Give a connection some time for its next request, unless it is closed."""
        if self._open.get(connection.ends) is connection:
            self._waiting[connection] = None
            connection.wait(self._idle)

    def remove(self, connection: BoundedProtocol) -> None:
        """Forget a connection that is closed."""
        self._waiting.pop(connection, None)
        connection.stop_waiting()
        if self._open.get(connection.ends) is connection:
            del self._open[connection.ends]

    def _begin(self, connection: BoundedProtocol | None) -> None:
        """A request is complete: from now on its connection may take as long as the answer takes."""
        self._requests += 1
        if connection is not None:
            self._waiting.pop(connection, None)
            connection.stop_waiting()


class BoundedProtocol(asyncio.Protocol):
    """One connection. It hands everything on to uvicorn's own protocol."""

    def __init__(self, config: uvicorn.Config, **options: Any) -> None:
        self._all = cast(BoundedConnections, config.app)
        self._inner = self._all.protocol(config, **options)
        self._timer: asyncio.TimerHandle | None = None
        self.facts: dict[str, Any] = {}
        """What applications found out about it."""

    @property
    def ends(self) -> object:
        """Both ends of the connection, as a request's scope has them."""
        return (self._inner.client, self._inner.server)

    def wait(self, seconds: float) -> None:
        """Close the connection after this time, counted from now."""
        self.stop_waiting()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._transport.close)

    def stop_waiting(self) -> None:
        """Leave the connection open."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._inner.connection_made(self._transport)
        self._all.add(self)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()  # type: ignore[func-returns-value]

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.remove(self)
        self._inner.connection_lost(exc)


def _has_body(scope: Scope) -> bool:
    headers = dict(scope["headers"])
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers


async def _turn_away(send: Send) -> None:
    told = b"Too many requests are under way. Try again in a moment.\n"
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(told)).encode()),
        (b"retry-after", b"1"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": told})
