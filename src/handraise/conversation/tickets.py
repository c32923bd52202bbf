"""The contract of a store for parked calls: calls of a gateway that wait for a person, while nobody waits for them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple, Protocol

from handraise.conversation.records import Json

NOT_SENT: Final[dict[str, Json]] = {}
"""The round of a call that its server has not heard of: a guard asks first."""


class Ticket(NamedTuple):
    """A parked call."""

    key: str
    """A digest of the ticket, which opens nothing to whoever reads the store."""
    person: str
    server: str
    holder: str
    """The process in which the call waits, by the name that `Tickets.enter` gave it."""
    deadline: float
    """Wall clock, in seconds."""
    call: Json
    """What it takes to go on: the request as the client made it, the target of its server, and the ticket."""
    round: Json = None
    """What the server asked and the state to give back, byte for byte, or `NOT_SENT`.

    None when the call lives in its process only.
    """
    sent: bool = False
    """Whether the answers went to the server: then nobody may send them again."""
    outcome: Json = None
    """The JSON-RPC response with which it ended."""


class Tickets(Protocol):
    """Where parked calls are kept. Every method is atomic."""

    async def enter(self) -> str:
        """Be known to be here; the name by which others find out whether this process still is."""
        ...

    async def gone(self, holders: Collection[str]) -> set[str]:
        """Which of these processes are not there any more, as far as that can be found out."""
        ...

    async def open(self, ticket: Ticket) -> None:
        """Keep a call that is about to be parked."""
        ...

    async def find(self, key: str) -> Ticket | None:
        """The call, or None."""
        ...

    async def waiting(self, person: str) -> list[Ticket]:
        """The calls of a person that have not ended."""
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
