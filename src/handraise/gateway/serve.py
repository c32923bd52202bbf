"""Run a gateway over stdio. The parts of a gateway are wired together here.

A client (at our standard streams or over HTTP) ── `Front` or `HttpGateway` ── a `Relay` for its era ── a `Link` to its
servers (`ServerSet`: a process or a URL, a bridge where the eras differ, a router where there are several).
All relays of a gateway share one `GatewayState`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable

from handraise.access import AccessCheck
from handraise.gateway.client_desk import ClientHabits
from handraise.gateway.legacy import LegacyRelay
from handraise.gateway.lines import LineWriter, message_reader
from handraise.gateway.links import Link, Port
from handraise.gateway.messages import INVALID_REQUEST, SERVER_FAULT, Message, error_response
from handraise.gateway.modern import ModernRelay
from handraise.gateway.options import Options
from handraise.gateway.peers import is_modern
from handraise.gateway.reading import Unreadable
from handraise.gateway.relay import Relay
from handraise.gateway.servers import ProcessLink, ServerSet
from handraise.gateway.state import GatewayState, habits_file
from handraise.processes import keep_memory_private

logger = logging.getLogger(__name__)


class StdioPort:
    """Messages to and from the client that started us."""

    def __init__(self) -> None:
        self.on_message: Callable[[Message], None] = lambda message: None
        self.writer = LineWriter()
        self.ended = asyncio.Event()
        self.reader = message_reader(self._deliver, self._refuse, self.ended.set)

    async def open(self) -> None:
        """Start to listen, on copies of the streams: the originals stay open."""
        await self.writer.open(os.fdopen(os.dup(1), "wb", 0))
        await self.reader.open(os.fdopen(os.dup(0), "rb", 0))

    def send(self, message: Message) -> None:
        if message.method is not None and self.writer.is_blocked:
            logger.warning("the client reads nothing: %s was dropped", message.method)
            return  # servers at URLs cannot be told to wait
        self.writer.write(message.raw)

    def _deliver(self, message: Message) -> None:
        """Pass on a message from the client. A failure here affects this message only."""
        try:
            self.on_message(message)
        except Exception:
            logger.exception("a message of the client could not be handled")
            if message.is_request:
                self.send(
                    error_response(message.id, SERVER_FAULT, "The gateway could not handle this request.")
                )

    def _refuse(self, error: Unreadable, line: bytes) -> None:
        """Send the client an error. If the message was a response, the server gets an error too."""
        logger.warning("a message of the client was not passed on: %s", error)
        self.send(error.refusal())
        if error.is_response:
            self._deliver(error.replacement())

    async def aclose(self) -> None:
        """Write the rest. Make the streams blocking again, because our parent may share them."""
        await self.writer.close()
        self.reader.close()
        for number in (0, 1):
            os.set_blocking(number, True)


class Front:
    """One client at one port. Its first message shows which era it speaks, and a relay for that era serves it."""

    def __init__(self, link: Link, state: GatewayState, port: Port) -> None:
        self._link = link
        self._state = state
        self._port = port
        self._relay: Relay | None = None
        self.lost = asyncio.Event()
        """Set when the server is gone."""
        link.on_closed = lambda source, last: self.lost.set()
        link.on_message = self._too_early

    def from_client(self, message: Message) -> None:
        """Handle a message from the client."""
        relay = self._relay
        if relay is None or (isinstance(relay, ModernRelay) and relay.falls_back(message)):
            relay_for_era = ModernRelay if is_modern(message) else LegacyRelay
            self._relay = relay = relay_for_era(self._link, self._state, self._port)
            relay.on_lost = lambda relay: self.lost.set()
        relay.from_client(message)

    def _too_early(self, message: Message) -> None:
        """Refuse a server's request before the client's first message: a question would pass unjudged."""
        if message.is_request:
            self._link.send(error_response(message.id, INVALID_REQUEST, "There is no client yet."))
        elif message.is_notice and not message.inside.carries_questions:
            self._port.send(message)

    async def aclose(self) -> None:
        """Withdraw open questions, then disconnect the server."""
        await (self._link if self._relay is None else self._relay).aclose()


async def serve_stdio(servers: ServerSet, options: Options) -> int:
    """Serve the client at our standard streams. Returns the exit status of the server, if it is the only one."""
    keep_memory_private()  # otherwise any program of this user can write an answer into /proc/PID/fd/0
    access = AccessCheck()
    access.add_parent()
    state = GatewayState(options, access=access, habits=ClientHabits(habits_file(os.environ)))
    accounts = None
    if any(upstream.url is not None for upstream in servers.upstreams):
        from handraise.gateway.accounts.accounts import Accounts  # processes need no accounts and no HTTP

        accounts = Accounts(state)
    port, stopped = StdioPort(), asyncio.Event()
    front = Front(await servers.connect(accounts), state, port)
    port.on_message = front.from_client
    _couple(port, servers.processes)

    def stop(number: int) -> None:
        stopped.set()
        for each in servers.processes:
            each.send_signal(number)

    with state.ending_on_signals(stop):
        await port.open()
        await _first(port.ended, front.lost, stopped)
        await front.aclose()
        if accounts is not None:
            await accounts.aclose()
        await state.aclose()
        await port.aclose()
    only = servers.processes[0] if len(servers.upstreams) == len(servers.processes) == 1 else None
    return 0 if only is None else await only.status()


def _couple(port: StdioPort, processes: list[ProcessLink]) -> None:
    """Pause reading from one side while the other side does not read."""

    def pause() -> None:
        for each in processes:
            each.reader.pause()

    def resume() -> None:
        for each in processes:
            each.reader.resume()

    port.writer.on_full, port.writer.on_ready = pause, resume
    for each in processes:
        each.writer.on_full, each.writer.on_ready = port.reader.pause, port.reader.resume


async def _first(*events: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
