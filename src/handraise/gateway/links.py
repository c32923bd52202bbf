"""The two ends of a relay: the link to a server, and the port back to a client."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from handraise.gateway.messages import SERVER_FAULT, Message, error_response
from handraise.gateway.upstreams import Source

logger = logging.getLogger(__name__)


class Destination(NamedTuple):
    """The server that a client's message goes to, and the message with the server's own names."""

    source: Source
    message: Message
    listed: Mapping[str, Any] | None = None
    """The tool as this server listed it; None if the link keeps no lists."""


class Link(Protocol):
    """The connection to a server. Its owner sets the two callbacks before it sends anything."""

    on_message: Callable[[Message], None]
    on_closed: Callable[[Source, bool], None]
    """Called with the server that is gone, and whether it was the last."""

    def source_of(self, message: Message) -> Source:
        """The server that a client's message goes to, as far as it is known."""
        ...

    async def locate(self, message: Message) -> Destination | None:
        """Find where a message goes; ask the servers if necessary. None when no server has its target."""
        ...

    def send(self, message: Message) -> None:
        """Send a message, now or when there is room."""
        ...

    def reissue(self, message: Message, round: dict[str, Any]) -> bool:
        """Ask a round from another process again; False when the caller must do it."""
        ...

    async def aclose(self) -> None:
        """Disconnect the server."""
        ...


class DirectLink:
    """Base of links to one server."""

    def __init__(self, source: Source) -> None:
        self.on_message: Callable[[Message], None] = lambda message: None
        self.on_closed: Callable[[Source, bool], None] = lambda source, last: None
        self.source = source

    def send(self, message: Message) -> None:
        """Send a message, now or when there is room."""
        raise NotImplementedError

    def deliver(self, message: Message) -> None:
        """Pass on a message from the server. A failure here affects this message only."""
        message.source = self.source
        try:
            self.on_message(message)
        except Exception:
            logger.exception("a message of %s could not be handled", self.source.upstream.name)
            if message.is_request:
                self.send(
                    error_response(message.id, SERVER_FAULT, "The gateway could not handle this request.")
                )

    def source_of(self, message: Message) -> Source:
        return self.source

    async def locate(self, message: Message) -> Destination | None:
        return Destination(self.source, message)

    def reissue(self, message: Message, round: dict[str, Any]) -> bool:
        return False


class Port(Protocol):
    """The connection back to a client, or the response to one of its requests."""

    def send(self, message: Message) -> None:
        """Send a message, now or when there is room."""
        ...


class Bridge:
    """Base of links that translate for another link."""

    def __init__(self, link: Link) -> None:
        self.on_message: Callable[[Message], None] = lambda message: None
        self.on_closed: Callable[[Source, bool], None] = lambda source, last: None
        self._link = link
        link.on_closed = lambda source, last: self.on_closed(source, last)

    def source_of(self, message: Message) -> Source:
        return self._link.source_of(message)

    async def locate(self, message: Message) -> Destination | None:
        return await self._link.locate(message)
