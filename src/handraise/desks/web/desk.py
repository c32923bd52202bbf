"""The web desk: a small server on this computer, inside the running loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from types import TracebackType

import uvicorn

from handraise.desks.queue import Queue
from handraise.desks.web.gate import Gate
from handraise.desks.web.sessions import Sessions
from handraise.desks.web.site import Site
from handraise.errors import SetupError, UsageError
from handraise.questions import Person

_LOOPBACK = ("127.0.0.1", "::1")


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


class WebDesk:
    """Serves a queue's questions to a browser on this computer.

        async with WebDesk(queue) as desk:
            link = desk.sign_in_url()

    Nobody is let in without such a link. It is returned and never printed: whoever shows it decides where, and a
    process whose output a model reads must not print it.
    """

    def __init__(
        self,
        queue: Queue,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`port` 0 takes a free one. `clock` measures, `now` tells the time of day."""
        if host not in _LOOPBACK:
            raise SetupError(f"The web desk serves this computer only: {host} is neither 127.0.0.1 nor ::1.")
        self._address = (host, port)
        self._sessions = Sessions(clock)
        self._site = Site(queue, self._sessions, clock=clock, now=now)
        self._server: _QuietServer | None = None
        self._serving: asyncio.Task[None] | None = None
        self.app = Gate(self._site.app, lambda: self.hosts)
        """The ASGI application, as it is served."""

    @property
    def port(self) -> int:
        """The port: the one that was asked for, or the one that was taken at the start."""
        return self._address[1]

    @property
    def hosts(self) -> frozenset[str]:
        """The names under which the desk answers; under any other it does not, whatever it resolves to."""
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))

    def sign_in_url(self, person: Person | None = None) -> str:
        """A link that signs one browser in, once, within ten minutes. With `person`, to their questions only."""
        if not self.port:
            raise UsageError("The web desk has no port yet: start it first.")
        name = f"[{self._address[0]}]" if ":" in self._address[0] else self._address[0]
        return f"http://{name}:{self.port}/sign-in/{self._sessions.invite(person)}"

    async def start(self) -> None:
        """Listen. Returns when the desk can be reached."""
        if self._serving is not None:
            raise UsageError("The web desk is running already.")
        host = self._address[0]
        listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(self._address)
            listener.listen(128)
        except OSError as error:
            listener.close()
            raise SetupError(
                f"The web desk cannot listen on {host}, port {self.port}: {error.strerror}."
            ) from error
        self._address = (host, listener.getsockname()[1])
        self._site.open()
        self._server = _QuietServer(_config(self.app))
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]), name="handraise web desk")

    async def stop(self) -> None:
        """Stop listening and end what is open. The questions stay in the queue."""
        if self._server is None or self._serving is None:
            return
        self._site.close()
        self._server.tell_to_stop()
        await self._serving
        self._server = self._serving = None

    async def __aenter__(self) -> WebDesk:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


def _config(app: Gate) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        log_level="error",
        access_log=False,
        lifespan="off",
        http="h11",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=2,
        limit_concurrency=200,
    )
