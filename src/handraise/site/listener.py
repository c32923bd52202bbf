"""A small web server on this computer, inside the running loop.

It stays within reach while somebody opens connections and sends nothing, or half a request, on them. uvicorn has no
time limit for a request that never becomes complete, and its own limit counts connections: a few hundred silent ones
would turn everybody away. Here a connection without a complete request is closed when nothing comes for
some seconds, and when there are too many of these, the oldest makes room for the new one. Only complete requests count
towards the limit above which a request is turned away.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from handraise.errors import SetupError, UsageError

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
    """An application whose connections are bounded: `uvicorn.Config(BoundedConnections(app), http=BoundedProtocol)`."""

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


LOOPBACK: Final = ("127.0.0.1", "::1")
_TRIES: Final = 10
"""Ports that are tried until one is free at both addresses."""
_NO_SUCH_ADDRESS: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class _QuietServer(uvicorn.Server):
    """A uvicorn inside somebody else's program: it leaves the signals alone and sleeps until it is told to stop."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._told = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await self._told.wait()

    def tell_to_stop(self) -> None:
        self.should_exit = True
        self._told.set()


class Listener:
    """Serves an application to this computer only. `name` says in errors what it is."""

    def __init__(
        self,
        name: str,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        as_localhost: bool = False,
        idle: float = IDLE,
    ) -> None:
        """`port` 0 takes a free one at the first start, and keeps it. `idle`: see `handraise.site.connections`.

        `as_localhost`: browsers come to http://localhost, as passkeys need it. The name means 127.0.0.1 and ::1, so
        both are taken: another user who listened on the other one would be sent the links that are for us.
        """
        if host not in LOOPBACK:
            raise SetupError(f"{name} serves this computer only: {host} is neither 127.0.0.1 nor ::1.")
        self._name = name
        self._as_localhost = as_localhost
        self._address = (host, port)
        self._idle = idle
        self._server: _QuietServer | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """The port: the one that was asked for, or the one that was taken at the start."""
        return self._address[1]

    @property
    def is_running(self) -> bool:
        """Whether it can be reached."""
        return self._serving is not None

    @property
    def hosts(self) -> frozenset[str]:
        """The host names that it answers to. It refuses every other name, even one that resolves to this address."""
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))

    @property
    def base_url(self) -> str:
        """Where it is, without a path."""
        if not self.port:
            raise UsageError(f"{self._name} has no port yet: start it first.")
        name = f"[{self._address[0]}]" if ":" in self._address[0] else self._address[0]
        name = "localhost" if self._as_localhost else name
        return f"http://{name}:{self.port}"

    async def start(self, app: ASGIApp) -> None:
        """Listen. Returns when it can be reached."""
        if self._serving is not None:
            raise UsageError(f"{self._name} is running already.")
        listening = self._bind_all()
        self._server = _QuietServer(_config(BoundedConnections(app, idle=self._idle)))
        self._serving = asyncio.create_task(
            self._server.serve(sockets=listening), name=f"handraise: {self._name}"
        )

    async def stop(self) -> None:
        """Stop listening and end what is open."""
        if self._server is None or self._serving is None:
            return
        self._server.tell_to_stop()
        await self._serving
        self._server = self._serving = None

    def _bind_all(self) -> list[socket.socket]:
        if not self._as_localhost:
            return [self._bind(self._address[0])]
        wanted = self._address
        for left in reversed(range(_TRIES if self.port == 0 else 1)):
            first = self._bind(self._address[0])
            try:
                return [first, self._bind(next(host for host in LOOPBACK if host != wanted[0]))]
            except SetupError as error:
                if getattr(error.__cause__, "errno", None) in _NO_SUCH_ADDRESS:
                    return [first]  # nobody else can listen there either
                first.close()
                self._address = wanted
                if not left:
                    raise
        raise AssertionError("the last try returns or raises")

    def _bind(self, host: str) -> socket.socket:
        listening: socket.socket | None = None
        try:
            listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host, self.port))
            listening.listen(128)
        except OSError as error:
            if listening is not None:
                listening.close()
            raise SetupError(
                f"{self._name} cannot listen on {host}, port {self.port}: {error.strerror}."
            ) from error
        self._address = (self._address[0], listening.getsockname()[1])
        return listening


def _config(app: BoundedConnections) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        log_level="error",
        access_log=False,
        lifespan="off",
        http=BoundedProtocol,
        ws="none",
        server_header=False,
        proxy_headers=False,  # nothing is in front of it, and a header must not say where a request comes from
        timeout_graceful_shutdown=2,
    )


class TemporaryListener:
    """Listens from the first page until no page has waited for `idle` seconds."""

    def __init__(
        self, app: Callable[[], ASGIApp], is_needed: Callable[[], bool], idle: float, port: int = 0
    ) -> None:
        self._port = port
        self.listener: Listener = self._new_listener()
        self._app = app
        self._is_needed = is_needed
        self._idle = idle
        self._lock = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None

    async def ensure(self) -> None:
        """Start listening."""
        async with self._lock:
            if not self.listener.is_running:
                self.listener = self._new_listener()  # the old port may be somebody else's by now
                await self.listener.start(self._app())
            if self._watch is None or self._watch.done():
                self._watch = asyncio.create_task(self._stop_when_idle(), name="handraise: idle pages")

    async def close(self) -> None:
        """Stop now."""
        async with self._lock:  # a cancel while it stops by itself would end it halfway
            if self._watch is not None:
                self._watch.cancel()
            await self.listener.stop()

    async def _stop_when_idle(self) -> None:
        while True:
            await asyncio.sleep(self._idle)
            async with self._lock:
                if not self._is_needed():
                    await self.listener.stop()
                    return

    def _new_listener(self) -> Listener:
        return Listener("The pages of this server", port=self._port)
