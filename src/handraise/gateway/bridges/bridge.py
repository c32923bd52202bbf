"""A link over another link: whose a message is, and when a server is gone, the one below knows."""

from __future__ import annotations

from collections.abc import Callable

from handraise.gateway.links import Link, Place
from handraise.gateway.messages import Message
from handraise.gateway.upstreams import Source


class Bridge:
    """What every link over another has; how it sends, and what it makes of what comes, is its own."""

    def __init__(self, link: Link) -> None:
        self.on_message: Callable[[Message], None] = lambda message: None
        self.on_closed: Callable[[Source, bool], None] = lambda source, last: None
        self._link = link
        link.on_closed = lambda source, last: self.on_closed(source, last)

    def source_of(self, message: Message) -> Source:
        return self._link.source_of(message)

    async def locate(self, message: Message) -> Place | None:
        return await self._link.locate(message)
