"""The contract of a store for parked calls: calls of a gateway that wait for a person, while nobody waits for them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from handraise.conversation.records import Json


class Ticket(NamedTuple):
    """A parked call. The ticket itself is not kept: `key` is a digest of it."""

    key: str
    person: str
    server: str
    holder: str
    """The process in which the call waits."""
    deadline: float
    """Wall clock, in seconds."""
    call: Json
    """The request as the client made it: `{"method": …, "params": …}`."""
    round: Json = None
    """What the server asked and the state to give back, byte for byte; None when the call lives in its process only."""
    sent: bool = False
    """Whether the answers went to the server: then nobody may send them again."""
    outcome: Json = None
    """The JSON-RPC response with which it ended."""


class Tickets(Protocol):
    """Where parked calls are kept. Every method is atomic."""

    async def open(self, ticket: Ticket) -> None:
        """Keep a call that is about to be parked."""
        ...

    async def find(self, key: str) -> Ticket | None:
        """The call, or None."""
        ...

    async def ask(self, key: str, round: Json) -> None:
        """The server asks something else; nothing was sent in answer to it."""
        ...

    async def send(self, key: str, *, holder: str) -> bool:
        """The answers go to the server now; False when another process took the call over."""
        ...

    async def take(self, key: str, *, was: str, holder: str) -> bool:
        """Take a call over from a process that is gone; True for one of all who try, and not once it was sent."""
        ...

    async def settle(self, key: str, outcome: Json, *, until: float) -> None:
        """Keep how it ended until then, for whoever comes late."""
        ...

    async def prune(self, now: float) -> int:
        """Delete what is over; how many went."""
        ...
