"""The contract of a store: what pausing and resuming needs to be kept, and how atomically."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from handraise.conversation.digest import Written
from handraise.conversation.recorded import LedgerTables, Record
from handraise.conversation.records import (
    Binding,
    Brought,
    Consumption,
    Entry,
    Flow,
    Json,
    Outcome,
    RoundRecord,
    Unfinished,
)

if TYPE_CHECKING:
    from handraise.vault.records import SecretTable

Answered: TypeAlias = Callable[[str, Brought | None], bool]
"""Takes the token of a round that another node answered; says whether the body is here.

With it come the answers, when it is sure that nobody else goes on with them; without them it is to `take_up` the round.
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
        """Keep a round that is about to be sent; its journal is the whole journal of its conversation from now on.

        A token that exists is an error.
        """
        ...

    async def find_round(self, token: str) -> RoundRecord | None:
        """The round with its journal as it stands now, or None.

        While it is the newest of its conversation, its own answers are the end of the journal.
        """
        ...

    async def consume(
        self,
        token: str,
        *,
        binding: Binding,
        answers: dict[str, Json],
        said: Written,
        now: float,
        events: Sequence[Record] = (),
    ) -> Consumption:
        """Use the round up, once; `said` is everything that the retry brought, and the same one has the same.

        The events are those of the first use: no other one writes any.

        The owner is checked before anything changes, then whether it was used before, then whether it still waits.
        """
        ...

    async def hold_round(self, token: str, *, since: float, now: float) -> bool:
        """Work on a consumed round from `now`: go on with it, or take it over from a process that is gone.

        True for one of all who saw it consumed at `since`; False when it went on, or somebody else was first.
        """
        ...

    def attend(self, answered: Answered) -> None:
        """Call this with every round of this node that another one answered. Stores that know no nodes never do."""
        ...

    async def take_up(self, token: str, *, now: float) -> Brought | None:
        """The answers that another node took to a round of this one, to go on with it from `now`; else None."""
        ...

    async def changed(self, token: str) -> None:
        """Wait until a round that somebody else goes on with may have gone on; for a while at most."""
        ...

    async def close_round(self, token: str, *, events: Sequence[Record] = ()) -> bool:
        """Close a round whose time is over; False, and no events, when somebody answered it before."""
        ...

    async def append(self, conversation: str, entries: Sequence[Entry]) -> None:
        """Add to the journal; on return it is safe."""
        ...

    async def settle(
        self, token: str, outcome: Outcome, *, until: float, ends: str = "", events: Sequence[Record] = ()
    ) -> None:
        """Keep how a consumed or expired round went on, for retries that arrive late.

        `ends` is the conversation that is over with it, as if it were given to `end`.
        """
        ...

    async def end(self, conversation: str, *, until: float) -> None:
        """The call is over: forget journal and answers now, the outcomes at `until`."""
        ...

    async def pending(self, person: str | None = None) -> list[RoundRecord]:
        """The rounds that still wait for an answer, oldest first, without their journals."""
        ...

    async def unfinished(self) -> list[Unfinished]:
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
