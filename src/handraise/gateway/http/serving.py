"""Serve an application over HTTP until we are told to end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import uvicorn

from handraise.access import AccessCheck
from handraise.errors import SetupError
from handraise.gateway.accounts.accounts import Accounts
from handraise.gateway.client_desk import ClientHabits
from handraise.gateway.http.server import HttpGateway
from handraise.gateway.options import Options
from handraise.gateway.servers import ServerSet
from handraise.gateway.shared.admission import Admission, OwnUserOnly, loopback_hosts, require_loopback
from handraise.gateway.state import GatewayState, habits_file
from handraise.processes import can_tell
from handraise.site.connections import IDLE, BoundedConnections, BoundedProtocol

Ready: TypeAlias = Callable[[str], None]
"""Told the host and port at which clients are served, from then on."""

_BACKLOG: Final = 2048
_MOST_REQUESTS: Final = 2000
"""Each client of a shared gateway follows a stream, and calls wait for their people."""
_GRACE: Final = 1
"""Seconds that calls have to end after we were told to."""


@dataclass(frozen=True, slots=True)
class HttpListener:
    """Where clients come to: every address of one host, as `localhost` has two."""

    host: str
    port: int
    sockets: list[socket.socket]

    @property
    def address(self) -> str:
        """The host and the port, as a URL has them."""
        return _written(self.host, self.port)


def listen(host: str, port: int) -> HttpListener:
    """Listen; port 0 takes a free one. SetupError when that cannot be."""
    sockets: list[socket.socket] = []
    try:
        for family, _, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            sockets.append(socket.create_server((address[0], port), family=family, backlog=_BACKLOG))
            # Each connection takes this over. Without it the body of a short response waits 40 ms for its head.
            sockets[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            port = sockets[0].getsockname()[1]
    except OSError as error:
        for each in sockets:
            each.close()
        why = str(error.strerror).partition(" (")[0]  # Python adds in brackets where
        raise SetupError(
            f"the gateway cannot listen at {_written(host, port)}: {why}; choose another host or port"
        ) from None
    return HttpListener(host, port, sockets)


def _written(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def serve_until_told(
    app: Any, listening: HttpListener, state: GatewayState, ready: Ready, *, idle: float = IDLE
) -> None:
    """Serve a gateway. Afterwards there is time to put everything away."""
    config = uvicorn.Config(
        BoundedConnections(app, idle=idle, most_requests=_MOST_REQUESTS),
        http=BoundedProtocol,
        ws="none",
        log_level="warning",
        access_log=False,  # sign-in links are addresses
        lifespan="off",
        proxy_headers=False,
        timeout_graceful_shutdown=2 * _GRACE,
    )
    await _Server(config, state, lambda: ready(listening.address)).serve(listening.sockets)


class _Server(uvicorn.Server):
    """Takes signals as every gateway does. uvicorn's own way ends with the signal anew, which leaves no time."""

    def __init__(self, config: uvicorn.Config, state: GatewayState, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._state = state
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
        with self._state.ending_on_signals(self._stop):
            yield

    def _stop(self, number: int) -> None:
        self.should_exit = True


async def serve_http(servers: ServerSet, options: Options, host: str, port: int, ready: Ready) -> int:
    """Serve clients over streamable HTTP until we are told to end."""
    require_loopback(host)
    if not can_tell():
        raise SetupError(
            "this system does not tell which user a connection comes from, so a gateway over HTTP needs people: "
            "make a file with `handraise gateway people add` and give it with --people, or use --issuer"
        )
    listening = listen(host, port)
    hosts = loopback_hosts(listening.port)
    access = AccessCheck()
    state = GatewayState(options, access=access, habits=ClientHabits(habits_file(os.environ)))
    accounts = Accounts(state)
    gateway = HttpGateway(state, partial(servers.connect, accounts))
    origins = {f"http://{name}" for name in hosts}
    admission = Admission(OwnUserOnly(gateway, access), hosts=hosts, origins=origins)
    try:
        await serve_until_told(admission, listening, state, ready)
    finally:
        await gateway.aclose()
        await accounts.aclose()
        await state.aclose()
    return 0
