"""Serve a gateway over HTTP until a signal ends it."""

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
from handraise.gateway.http.admission import Admission, OwnUserOnly, loopback_hosts, require_loopback
from handraise.gateway.http.server import HttpGateway
from handraise.gateway.options import Options
from handraise.gateway.servers import ServerSet
from handraise.gateway.state import GatewayState, habits_file
from handraise.processes import can_tell
from handraise.site.listener import IDLE, BoundedConnections, BoundedProtocol

Ready: TypeAlias = Callable[[str], None]
"""Called with the host and port once clients can connect."""

_BACKLOG: Final = 2048
_MOST_REQUESTS: Final = 2000
"""High, because each client of a shared gateway follows a stream, and calls wait for people."""
_GRACE: Final = 1
"""Seconds that calls have to end after the signal."""


@dataclass(frozen=True, slots=True)
class HttpListener:
    """The sockets for clients: one for every address of a host. `localhost` has two."""

    host: str
    port: int
    sockets: list[socket.socket]

    @property
    def address(self) -> str:
        """The host and the port, as in a URL."""
        return _written(self.host, self.port)


def listen(host: str, port: int) -> HttpListener:
    """Listen; port 0 takes a free one. SetupError when that fails."""
    sockets: list[socket.socket] = []
    try:
        for family, _, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            sockets.append(socket.create_server((address[0], port), family=family, backlog=_BACKLOG))
            # Connections inherit this. Without it the body of a short response waits 40 ms.
            sockets[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            port = sockets[0].getsockname()[1]
    except OSError as error:
        for each in sockets:
            each.close()
        why = str(error.strerror).partition(" (")[0]  # Python adds the address in brackets
        raise SetupError(
            f"the gateway cannot listen at {_written(host, port)}: {why}; choose another host or port"
        ) from None
    return HttpListener(host, port, sockets)


def _written(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def serve_until_told(
    app: Any, listening: HttpListener, state: GatewayState, ready: Ready, *, idle: float = IDLE
) -> None:
    """Serve a gateway until a signal. The caller can clean up afterwards."""
    config = uvicorn.Config(
        BoundedConnections(app, idle=idle, most_requests=_MOST_REQUESTS),
        http=BoundedProtocol,
        ws="none",
        log_level="warning",
        access_log=False,  # paths contain sign-in links
        lifespan="off",
        proxy_headers=False,
        timeout_graceful_shutdown=2 * _GRACE,
    )
    await _Server(config, state, lambda: ready(listening.address)).serve(listening.sockets)


class _Server(uvicorn.Server):
    """Handles signals like every gateway. uvicorn would raise the signal again, which leaves no time to clean up."""

    def __init__(self, config: uvicorn.Config, state: GatewayState, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._state = state
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Give calls a moment to end, then close connections. uvicorn would log those that it closes as failures."""
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
    """Serve programs of this user over streamable HTTP until a signal."""
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
