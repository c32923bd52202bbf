"""The contract of a store, and the records that it keeps: rounds, the journal, and flows that finish in a browser.

The records are named tuples, not frozen dataclasses: several are made for every question, at a quarter of the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from handraise.calls.ledger_tables import LedgerTables, Record

if TYPE_CHECKING:
    from handraise.vault.vault import SecretTable

Json: TypeAlias = Any
"""A JSON value, as `json.loads` returns it."""


class CallBinding(NamedTuple):
    """The person, call and server of a round. A retry that differs in any of them is refused."""

    person: str
    method: str
    target: str
    arguments: str
    """The digest of the arguments."""
    server: str = ""
    """The server's name, because servers may share a store. The same on all nodes and after a restart."""


StepKind: TypeAlias = Literal["answer", "expired", "judged", "once"]
"""An answer, a question that nobody answered, the author's verdict on an answer, or the result of a `once` step."""


class JournalEntry(NamedTuple):
    """One step of the journal, in the order of the handler.

    `pin` is the digest of the shown question, so that an answer never counts for another one.
    """

    kind: StepKind
    key: str
    pin: str
    value: Json


class RoundRecord(NamedTuple):
    """Questions that went out together and wait for one retry."""

    token: str
    """The `requestState`: random, and useless to anyone but its person."""
    call_id: str
    number: int
    binding: CallBinding
    deadline: float
    """Wall clock, in seconds."""
    questions: dict[str, Json]
    """The `inputRequests` as they were sent, by key."""
    pins: dict[str, str]
    """The digest of each shown question, by key."""
    journal: tuple[JournalEntry, ...] = ()
    handler: str | None = None
    """The name of a replayable handler; None when the handler must not run again."""
    seed: str = ""
    """The seed of the questions' ids, so that a replay gives the same ids."""


class UnfinishedRound(NamedTuple):
    """A round without an outcome: it waits for an answer, or its answer is being used."""

    call_id: str
    handler: str | None
    deadline: float


class RoundOutcome(NamedTuple):
    """The outcome of a round: the next round, or the end of the call."""

    kind: Literal["result", "error", "round"]
    value: Json
    """The wire result, or the JSON-RPC error object."""


EXPIRED = "expired"
"""The reason for refusing a round that nobody answered in time."""


class RoundUse(NamedTuple):
    """One retry that brings answers to a round."""

    binding: CallBinding
    answers: dict[str, Json]
    said: str
    """A digest of all answers in the retry. The same retry has the same digest."""
    now: float


class ConsumeResult(NamedTuple):
    """The store's reply to a retry.

    `first`: this retry consumes the round. `again`: the same answers came before; `outcome` is
    theirs, if it is there yet. `refused`: anything else, with the reason for the log.
    """

    verdict: Literal["first", "again", "refused"]
    reason: str = ""
    outcome: RoundOutcome | None = None
    since: float = 0.0
    """When the round was consumed, wall clock."""
    elsewhere: bool = False
    """Whether the handler is parked at another live node, which continues it."""


class DeliveredAnswers(NamedTuple):
    """Answers that another node took to a round of this node, and since when this node owns the round."""

    answers: dict[str, Json]
    since: float


class Flow(NamedTuple):
    """A URL question that somebody has to finish in a browser."""

    elicitation_id: str
    person: str
    deadline: float
    completed: bool = False


NOT_SENT: Final[dict[str, Json]] = {}
"""The round of a call that was not sent yet, because a guard asks first."""


class Ticket(NamedTuple):
    """A parked call."""

    key: str
    """A digest of the ticket. It is useless to a reader of the store."""
    person: str
    server: str
    holder: str
    """The process in which the call waits, by its name from `Tickets.enter`."""
    deadline: float
    """Wall clock, in seconds."""
    call: Json
    """The data to continue it: the client's request, the server's target, and the ticket."""
    round: Json = None
    """The server's questions and its unchanged state, or `NOT_SENT`.

    None when the call lives in its process only.
    """
    sent: bool = False
    """Whether the answers went to the server. Then nobody may send them again."""
    outcome: Json = None
    """The JSON-RPC response with which it ended."""


class Tickets(Protocol):
    """The table of parked calls. Every method is atomic."""

    async def enter(self) -> str:
        """Register this process; returns its name, by which others check whether it lives."""

    async def gone(self, holders: Collection[str]) -> set[str]:
        """The processes among these that are known to be gone."""

    async def open(self, ticket: Ticket) -> None:
        """Keep a call that is about to be parked."""

    async def find(self, key: str) -> Ticket | None:
        """The call, or None."""

    async def waiting(self, person: str) -> list[Ticket]:
        """The calls of a person that have not ended."""

    async def ask(self, key: str, round: Json) -> None:
        """Store the next round, whose answers were not sent yet."""

    async def send(self, key: str, *, holder: str) -> bool:
        """Mark the answers as sent; False when another process took over the call."""

    async def take(self, key: str, *, was: str, holder: str) -> bool:
        """Take over a call from a process that is gone. True for one caller only, and never once answers were sent."""

    async def settle(self, key: str, outcome: Json, *, until: float) -> None:
        """Store its outcome until `until`."""

    async def prune(self, now: float) -> int:
        """Delete what is over; returns how many."""


OnAnswered: TypeAlias = Callable[[str, DeliveredAnswers | None], bool]
"""Takes the token of a round that another node answered; says whether the handler is here.

The answers are passed when only this node can continue. Without them, call `take_delivered`.
"""


class Store(Protocol):
    """Keeps rounds, journals, flows, secrets and the ledger.

    Every method is atomic. Times are seconds of the clock `now` and come from the caller. `events` are written to the
    ledger in the same transaction as the change: on return both are safe, or neither happened.
    The suite in `handraise.testing` runs the same tests against every implementation.
    """

    @property
    def durable(self) -> bool:
        """Whether records outlive the process."""

    async def open(self) -> None:
        """Connect to the store. Call it before anything else; it also sets the clock."""

    def now(self) -> float:
        """Seconds since the epoch, by the clock that all users of the store share."""

    @property
    def ledger(self) -> LedgerTables:
        """The tables of the ledger."""

    @property
    def secrets(self) -> SecretTable:
        """The table of the vault."""

    async def open_round(self, record: RoundRecord, *, events: Sequence[Record] = ()) -> None:
        """Store a round that is about to be sent. Its journal replaces the journal of its call.

        A token that exists is an error.
        """

    async def find_round(self, token: str) -> RoundRecord | None:
        """The round with its journal as it stands now, or None.

        While it is the newest of its call, its own answers are the end of the journal.
        """

    async def consume(self, token: str, use: RoundUse, *, events: Sequence[Record] = ()) -> ConsumeResult:
        """Consume the round, once.

        Only the first use writes the events.

        The owner is checked before anything changes, then whether it was used before, then whether it still waits.
        """

    async def hold_round(self, token: str, *, since: float, now: float) -> bool:
        """Own a consumed round from `now`: continue it, or take it over from a process that is gone.

        True for one caller that saw it consumed at `since`; False when it has an outcome, or another was first.
        """

    def on_answered(self, answered: OnAnswered) -> None:
        """Call `answered` for every round of this node that another node answered. Stores for one process never do."""

    async def take_delivered(self, token: str, *, now: float) -> DeliveredAnswers | None:
        """Answers that another node took to this node's round, which this node owns from `now`; else None."""

    async def wait_for_change(self, token: str) -> None:
        """Wait until a round of another process may have changed, for a limited time."""

    async def close_round(self, token: str, *, events: Sequence[Record] = ()) -> bool:
        """Close an expired round; False, and no events, when it was answered before."""

    async def append(self, call_id: str, entries: Sequence[JournalEntry]) -> None:
        """Append to the journal."""

    async def settle(
        self,
        token: str,
        outcome: RoundOutcome,
        *,
        until: float,
        ends: str = "",
        events: Sequence[Record] = (),
    ) -> None:
        """Store the outcome of a consumed or expired round, for late retries.

        `ends`: the call that ends with it, as with `end`.
        """

    async def end(self, call_id: str, *, until: float) -> None:
        """End a call: delete journal and answers now, the outcomes at `until`."""

    async def pending(self, person: str | None = None) -> list[RoundRecord]:
        """The rounds that still wait for an answer, oldest first, without their journals."""

    async def unfinished(self) -> list[UnfinishedRound]:
        """The rounds without an outcome, answered or not, while they are kept."""

    async def open_flow(self, flow: Flow) -> None:
        """Store a flow. The same id and person continue it; the same id for another person is an error."""

    async def complete_flow(
        self, elicitation_id: str, *, person: str, now: float, events: Sequence[Record] = ()
    ) -> bool:
        """Mark a flow as finished by its person; False, and no events, when they have no such flow."""

    async def find_flow(self, elicitation_id: str) -> Flow | None:
        """The flow, or None."""

    async def prune(self, now: float) -> int:
        """Delete what is over; returns how many records."""

    async def aclose(self) -> None:
        """Close files and connections."""


class SharedStore(Store, Protocol):
    """A store with a URL. Servers, gateways and commands can share it."""

    @property
    def tickets(self) -> Tickets:
        """The parked calls of gateways."""

    def signing_secrets(self, *, make: bool = True) -> Sequence[bytes]:
        """The ledger's key, then its earlier keys. With `make=False`, empty if it is lost."""

    async def secret_for(self, purpose: str) -> bytes:
        """A secret for one purpose, the same for all users of the store."""

    async def other_nodes(self) -> int | None:
        """How many other nodes use it now; None for a store for one process."""
