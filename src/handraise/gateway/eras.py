"""A server of the other era than its client's: found out at the first message, and bridged from then on."""

from __future__ import annotations

from collections.abc import Callable

from handraise.gateway.links import Link
from handraise.gateway.messages import Message
from handraise.gateway.upstreams import Source


class EraLink:
    """A link that speaks its client's era, whatever the server speaks."""

    def __init__(self, link: Link) -> None:
        self.on_message: Callable[[Message], None] = lambda message: None
        self.on_closed: Callable[[], None] = lambda: None
        self._link = link
        link.on_message = lambda message: self.on_message(message)
        link.on_closed = lambda: self.on_closed()

    @property
    def durable(self) -> bool:
        return self._link.durable

    def source_of(self, message: Message) -> Source:
        return self._link.source_of(message)

    def send(self, message: Message) -> None:
        self._link.send(message)

    async def aclose(self) -> None:
        await self._link.aclose()
