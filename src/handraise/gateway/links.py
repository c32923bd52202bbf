"""The two ports of a relay: the link to a server, and the way back to a client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from handraise.gateway.messages import Message, Unreadable
from handraise.gateway.upstreams import Source


class Place(NamedTuple):
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

    async def locate(self, message: Message) -> Place | None:
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

    def take_unread(self, error: Unreadable) -> None:
        """The server answered, and nobody can read it: the request ends with an error instead."""
        message = error.stand_in()
        message.source = self.source
        self.on_message(message)

    def source_of(self, message: Message) -> Source:
        return self.source

    async def locate(self, message: Message) -> Place | None:
        return Place(self.source, message)

    def reissue(self, message: Message, round: dict[str, Any]) -> bool:
        return False


class Port(Protocol):
    """The way back to a client: all of it, or the answer to one of its requests."""

    def send(self, message: Message) -> None:
        """Send a message, now or when there is room."""
        ...
