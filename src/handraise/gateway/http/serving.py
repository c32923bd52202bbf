"""Serve an application over HTTP until we are told to end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import uvicorn

from handraise.errors import SetupError
from handraise.gateway.ending import ending_on_signals
from handraise.gateway.http.protocol import WholeResponses
from handraise.site.connections import IDLE, Connections, Watched

if TYPE_CHECKING:
    from handraise.gateway.home import Home

Ready: TypeAlias = Callable[[str], None]
"""Told the host and port at which clients are served, from then on."""

_BACKLOG: Final = 2048
_MOST_REQUESTS: Final = 2000
"""Each client of a shared gateway follows a stream, and calls wait for their people."""
_GRACE: Final = 1
"""Seconds that calls have to end after we were told to."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Where clients come to: every address of one host, as `localhost` has two."""

    host: str
    port: int
    sockets: list[socket.socket]

    @property
    def address(self) -> str:
        """The host and the port, as a URL has them."""
        return _written(self.host, self.port)


def listen(host: str, port: int) -> Listening:
    """Listen; port 0 takes a free one. SetupError when that cannot be."""
    sockets: list[socket.socket] = []
    try:
        for family, _, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            sockets.append(socket.create_server((address[0], port), family=family, backlog=_BACKLOG))
            port = sockets[0].getsockname()[1]
    except OSError as error:
        for each in sockets:
            each.close()
        why = str(error.strerror).partition(" (")[0]  # Python adds in brackets where
        raise SetupError(
            f"the gateway cannot listen at {_written(host, port)}: {why}; choose another host or port"
        ) from None
    return Listening(host, port, sockets)


def _written(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def serve_until_told(
    app: Any, listening: Listening, home: Home, ready: Ready, *, idle: float = IDLE
) -> None:
    """Serve a gateway. Afterwards there is time to put everything away."""
    config = uvicorn.Config(
        Connections(app, protocol=WholeResponses, idle=idle, most_requests=_MOST_REQUESTS),
        http=Watched,
        ws="none",
        log_level="warning",
        access_log=False,  # sign-in links are addresses
        lifespan="off",
        proxy_headers=False,
        timeout_graceful_shutdown=2 * _GRACE,
    )
    await _Server(config, home, lambda: ready(listening.address)).serve(listening.sockets)


class _Server(uvicorn.Server):
    """Takes signals as every gateway does. uvicorn's own way ends with the signal anew, which leaves no time."""

    def __init__(self, config: uvicorn.Config, home: Home, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._home = home
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Give calls a moment to end, then hang up. uvicorn would log what it ends by itself as failures of ours."""
        asyncio.get_running_loop().call_later(_GRACE, self._hang_up)
        await super().shutdown(sockets)

    def _hang_up(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.close()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        with ending_on_signals(self._home, lambda number: self._stop()):
            yield

    def _stop(self) -> None:
        self.should_exit = True
