"""The contract of a store: what pausing and resuming needs to be kept, and how atomically."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from handraise.calls.ledger_tables import LedgerTables, Record
from handraise.calls.records import (
    ConsumeResult,
    DeliveredAnswers,
    Flow,
    JournalEntry,
    Json,
    RoundOutcome,
    RoundRecord,
    RoundUse,
    UnfinishedRound,
)

if TYPE_CHECKING:
    from handraise.vault.records import SecretTable


NOT_SENT: Final[dict[str, Json]] = {}
"""The round of a call that its server has not heard of: a guard asks first."""


class Ticket(NamedTuple):
    """A parked call."""

    key: str
    """A digest of the ticket, which opens nothing for a reader of the store."""
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


OnAnswered: TypeAlias = Callable[[str, DeliveredAnswers | None], bool]
"""Takes the token of a round that another node answered; says whether the handler is here.

The answers come along when nobody else can go on with them. Without them, call `take_delivered`.
"""


class Store(Protocol):
    """Where rounds, journals, flows, secrets and the ledger live.

    Every method is atomic. Times are seconds of the clock `now` and come from the caller. `events` are written to the
    ledger in the same transaction as what they tell of: both are safe on return, or neither happened.
    The suite in `handraise.testing` runs the same tests against every implementation.
    """

    @property
    def durable(self) -> bool:
        """Whether records outlive the process."""
        ...

    async def open(self) -> None:
        """Reach the store, before anything else is asked of it: only then it knows what time it is."""
        ...

    def now(self) -> float:
        """The wall clock, in seconds, that all who share the store go by."""
        ...

    @property
    def ledger(self) -> LedgerTables:
        """The tables of the ledger."""
        ...

    @property
    def secrets(self) -> SecretTable:
        """The table of the vault."""
        ...

    async def open_round(self, record: RoundRecord, *, events: Sequence[Record] = ()) -> None:
        """Keep a round that is about to be sent; its journal is the whole journal of its call from now on.

        A token that exists is an error.
        """
        ...

    async def find_round(self, token: str) -> RoundRecord | None:
        """The round with its journal as it stands now, or None.

        While it is the newest of its call, its own answers are the end of the journal.
        """
        ...

    async def consume(self, token: str, use: RoundUse, *, events: Sequence[Record] = ()) -> ConsumeResult:
        """Use the round up, once.

        The events are those of the first use: no other one writes any.

        The owner is checked before anything changes, then whether it was used before, then whether it still waits.
        """
        ...

    async def hold_round(self, token: str, *, since: float, now: float) -> bool:
        """Work on a consumed round from `now`: go on with it, or take it over from a process that is gone.

        True for one of all who saw it consumed at `since`; False when it went on, or somebody else was first.
        """
        ...

    def on_answered(self, answered: OnAnswered) -> None:
        """Call this with every round of this node that another one answered. Stores that know no nodes never do."""
        ...

    async def take_delivered(self, token: str, *, now: float) -> DeliveredAnswers | None:
        """The answers that another node took to a round of this one, to go on with it from `now`; else None."""
        ...

    async def wait_for_change(self, token: str) -> None:
        """Wait until a round that somebody else goes on with may have gone on; for a while at most."""
        ...

    async def close_round(self, token: str, *, events: Sequence[Record] = ()) -> bool:
        """Close a round whose time is over; False, and no events, when somebody answered it before."""
        ...

    async def append(self, call_id: str, entries: Sequence[JournalEntry]) -> None:
        """Add to the journal; on return it is safe."""
        ...

    async def settle(
        self,
        token: str,
        outcome: RoundOutcome,
        *,
        until: float,
        ends: str = "",
        events: Sequence[Record] = (),
    ) -> None:
        """Keep how a consumed or expired round went on, for retries that arrive late.

        `ends` is the call that is over with it, as if it were given to `end`.
        """
        ...

    async def end(self, call_id: str, *, until: float) -> None:
        """The call is over: forget journal and answers now, the outcomes at `until`."""
        ...

    async def pending(self, person: str | None = None) -> list[RoundRecord]:
        """The rounds that still wait for an answer, oldest first, without their journals."""
        ...

    async def unfinished(self) -> list[UnfinishedRound]:
        """The rounds that did not go on yet, answered or not, as long as they are kept."""
        ...

    async def open_flow(self, flow: Flow) -> None:
        """Keep a flow. The same id for the same person continues it; for anybody else it is an error."""
        ...

    async def complete_flow(
        self, elicitation_id: str, *, person: str, now: float, events: Sequence[Record] = ()
    ) -> bool:
        """Mark a flow as finished by its own person; False, and no events, when there is no such flow for them."""
        ...

    async def find_flow(self, elicitation_id: str) -> Flow | None:
        """The flow, or None."""
        ...

    async def prune(self, now: float) -> int:
        """Delete what is over; how many records went."""
        ...

    async def aclose(self) -> None:
        """Let go of files and connections."""
        ...


class SharedStore(Store, Protocol):
    """A store that an address names. Servers, gateways and commands may use it at the same time."""

    @property
    def tickets(self) -> Tickets:
        """The parked calls of gateways."""
        ...

    def signing_secrets(self, *, make: bool = True) -> Sequence[bytes]:
        """The ledger's key, and behind it the keys that it had before. With `make` false, nothing if it is lost."""
        ...

    async def secret_for(self, purpose: str) -> bytes:
        """A secret for a purpose of its own, the same for everybody who shares the store."""
        ...

    async def other_nodes(self) -> int | None:
        """How many other nodes use it now; None when it knows of no nodes."""
        ...
