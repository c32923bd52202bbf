"""Which era a client speaks: its first message tells, and decides which relay serves it."""

from __future__ import annotations

import asyncio

from handraise.gateway.home import Home
from handraise.gateway.legacy import LegacyRelay
from handraise.gateway.links import Link, Port
from handraise.gateway.messages import INVALID_REQUEST, Message, fault, input_requests
from handraise.gateway.modern import ModernRelay
from handraise.gateway.relay import Relay
from handraise.gateway.requests import is_modern


class Front:
    """Takes a client's messages, the first of which chooses its relay."""

    def __init__(self, link: Link, home: Home, port: Port) -> None:
        self._link = link
        self._home = home
        self._port = port
        self._relay: Relay | None = None
        self.lost = asyncio.Event()
        """Set when the server is gone."""
        home.on_lost = lambda relay: self.lost.set()
        link.on_closed = lambda source, last: self.lost.set()
        link.on_message = self._too_early

    def from_client(self, message: Message) -> None:
        """Take a message of the client's."""
        if self._relay is None:
            self._relay = relay_for(message, self._link, self._home, self._port)
        self._relay.from_client(message)

    def _too_early(self, message: Message) -> None:
        """Before the client's first message there is nobody to ask, so that a question would pass unjudged."""
        if message.is_request:
            self._link.send(fault(message.id, INVALID_REQUEST, "There is no client yet."))
        elif message.is_notice and not input_requests(message.body):
            self._port.send(message)

    async def aclose(self) -> None:
        """Withdraw what waits for a person, then let the server go."""
        await (self._link if self._relay is None else self._relay).aclose()


def relay_for(message: Message, link: Link, home: Home, port: Port) -> Relay:
    """The relay for a client that begins with this message."""
    return (ModernRelay if is_modern(message) else LegacyRelay)(link, home, port)
