"""The two ports of a relay: the link to a server, and the way back to a client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from handraise.gateway.messages import Message
from handraise.gateway.upstreams import Source


class Link(Protocol):
    """The way to a server. Whoever owns it sets the two callbacks before it sends anything."""

    on_message: Callable[[Message], None]
    on_closed: Callable[[Source, bool], None]
    """Told which server is gone, and whether it was the last."""

    @property
    def durable(self) -> bool:
        """Whether a `requestState` that came this way is good in another process, too."""
        ...

    def source_of(self, message: Message) -> Source:
        """The server to which a message of the client's goes."""
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


class Port(Protocol):
    """The way back to a client: all of it, or the answer to one of its requests."""

    def send(self, message: Message) -> None:
        """Send a message, now or when there is room."""
        ...
