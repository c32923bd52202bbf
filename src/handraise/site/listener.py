"""A small web server on this computer, inside the running loop."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Iterator
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from handraise.errors import SetupError, UsageError
from handraise.site.connections import IDLE, BoundedConnections, BoundedProtocol

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
