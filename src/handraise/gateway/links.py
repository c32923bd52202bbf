"""The two ports of a relay: the link to a server, and the way back to a client."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from handraise.gateway.messages import SERVER_FAULT, Message, Unreadable, error_response
from handraise.gateway.upstreams import Source

logger = logging.getLogger(__name__)


class Destination(NamedTuple):
    """Where a message of the client's goes: the server, and the message in the server's own names."""

    source: Source
    message: Message


class Link(Protocol):
    """The way to a server. Whoever owns it sets the two callbacks before it sends anything."""

    on_message: Callable[[Message], None]
    on_closed: Callable[[Source, bool], None]
    """Told which server is gone, and whether it was the last."""

    def source_of(self, message: Message) -> Source:
        """The server to which a message of the client's goes, as far as it is known yet."""
        ...

    async def locate(self, message: Message) -> Destination | None:
        """Find out where a message goes, and ask the servers if need be; None when none of them has this."""
        ...

    def send(self, message: Message) -> None:
        """Send a message, now or when there is room."""
        ...

    def reissue(self, message: Message, round: dict[str, Any]) -> bool:
        """Go on with a round that another process was asked in; False where that is left to the caller."""
        ...

    async def aclose(self) -> None:
        """Let the server go."""
        ...


class DirectLink:
    """What a link that leads to one server has: there is nothing to find out, and it knows no rounds."""

    def __init__(self, source: Source) -> None:
        self.on_message: Callable[[Message], None] = lambda message: None
        self.on_closed: Callable[[Source, bool], None] = lambda source, last: None
        self.source = source

    def send(self, message: Message) -> None:
        """Send a message, now or when there is room."""
        raise NotImplementedError

    def deliver(self, message: Message) -> None:
        """Hand a message of the server's on. A failure of ours ends this message only, and no other one."""
        message.source = self.source
        try:
            self.on_message(message)
        except Exception:
            logger.exception("a message of %s could not be handled", self.source.upstream.name)
            if message.is_request:
                self.send(
                    error_response(message.id, SERVER_FAULT, "The gateway could not handle this request.")
                )

    def deliver_unreadable(self, error: Unreadable) -> None:
        """The server answered, and nobody can read it: the request ends with an error instead."""
        self.deliver(error.replacement())

    def source_of(self, message: Message) -> Source:
        return self.source

    async def locate(self, message: Message) -> Destination | None:
        return Destination(self.source, message)

    def reissue(self, message: Message, round: dict[str, Any]) -> bool:
        return False


class Port(Protocol):
    """The way back to a client: all of it, or the answer to one of its requests."""

    def send(self, message: Message) -> None:
        """Send a message, now or when there is room."""
        ...


class Bridge:
    """What every link over another has; how it sends, and what it makes of what comes, is its own."""

    def __init__(self, link: Link) -> None:
        self.on_message: Callable[[Message], None] = lambda message: None
        self.on_closed: Callable[[Source, bool], None] = lambda source, last: None
        self._link = link
        link.on_closed = lambda source, last: self.on_closed(source, last)

    def source_of(self, message: Message) -> Source:
        return self._link.source_of(message)

    async def locate(self, message: Message) -> Destination | None:
        return await self._link.locate(message)
