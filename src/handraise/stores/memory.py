"""The store that lives and dies with the process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from handraise.conversation.digest import Written
from handraise.conversation.recorded import Record
from handraise.conversation.records import (
    EXPIRED,
    Binding,
    Consumption,
    Entry,
    Flow,
    Json,
    Outcome,
    RoundRecord,
    Unfinished,
)
from handraise.errors import StoreError
from handraise.stores.alone import Alone
from handraise.stores.memory_ledger import MemoryLedger
from handraise.stores.memory_secrets import MemorySecrets
from handraise.stores.memory_tickets import MemoryTickets


@dataclass(slots=True)
class _Row:
    record: RoundRecord
    answers: dict[str, Json] | None = None
    said: Written | None = None
    since: float = 0.0
    outcome: Outcome | None = None
    until: float | None = None


class MemoryStore(Alone):
    """Keeps everything in dictionaries. What it holds is gone with the process."""

    durable = False

    def __init__(self) -> None:
        self._rows: dict[str, _Row] = {}
        self._tokens: dict[str, tuple[str, ...]] = {}
        self._journals: dict[str, list[Entry]] = {}
        self._flows: dict[str, Flow] = {}
        self.secrets: MemorySecrets = MemorySecrets()
        """The vault's table."""
        self.ledger: MemoryLedger = MemoryLedger()
        """The ledger's tables."""
        self.tickets: MemoryTickets = MemoryTickets()
        """The gateway's parked calls."""

    async def open_round(self, record: RoundRecord, *, events: Sequence[Record] = ()) -> None:
        if record.token in self._rows:
            raise StoreError("a round with this token exists already")
        self._rows[record.token] = _Row(record)
        self._tokens[record.conversation] = (*self._tokens.get(record.conversation, ()), record.token)
        if record.journal:
            self._journals[record.conversation] = list(record.journal)
        else:
            self._journals.pop(record.conversation, None)
        if events:
            self.ledger.add(events)

    async def find_round(self, token: str) -> RoundRecord | None:
        row = self._rows.get(token)
        if row is None:
            return None
        conversation = row.record.conversation
        newest = self._tokens[conversation][-1] == token
        journal = self._journals.get(conversation, ())
        return row.record._replace(journal=(*journal, *(_answers_of(row) if newest else ())))

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
        row = self._rows.get(token)
        if row is None:
            return Consumption("refused", "unknown token")
        if row.record.binding != binding:
            return Consumption("refused", "bound to another person or call")
        if row.said is None:
            if row.outcome is not None:
                return Consumption("again", outcome=row.outcome)
            if now >= row.record.deadline or row.until is not None:
                return Consumption("refused", EXPIRED)
            row.said, row.answers, row.since = said, answers, now
            if events:
                self.ledger.add(events)
            return Consumption("first", since=now)
        if row.said != said:
            return Consumption("refused", "used already, with other answers")
        if row.outcome is None and row.until is not None:
            return Consumption("refused", "the call is over, and how this round went on was not kept")
        return Consumption("again", outcome=row.outcome, since=row.since)

    async def hold_round(self, token: str, *, since: float, now: float) -> bool:
        row = self._rows.get(token)
        if row is None or row.said is None or row.outcome is not None or row.since != since:
            return False
        row.since = now
        return True

    async def close_round(self, token: str, *, events: Sequence[Record] = ()) -> bool:
        row = self._rows.get(token)
        if row is None or row.said is not None:
            return False
        row.until = row.record.deadline + _GRACE
        self.ledger.add(events)
        return True

    async def append(self, conversation: str, entries: Sequence[Entry]) -> None:
        self._journals.setdefault(conversation, []).extend(entries)

    async def settle(
        self, token: str, outcome: Outcome, *, until: float, ends: str = "", events: Sequence[Record] = ()
    ) -> None:
        row = self._rows.get(token)
        if row is not None:
            row.outcome, row.until = outcome, until
        if ends:
            self._end(ends, until)
        if events:
            self.ledger.add(events)

    async def end(self, conversation: str, *, until: float) -> None:
        self._end(conversation, until)

    def _end(self, conversation: str, until: float) -> None:
        self._journals.pop(conversation, None)
        for token in self._tokens.get(conversation, ()):
            row = self._rows[token]
            row.answers, row.until = None, until
            row.record = RoundRecord(*row.record[:5], _NONE, _NONE, (), *row.record[8:])

    async def pending(self, person: str | None = None) -> list[RoundRecord]:
        return [
            row.record._replace(journal=())
            for row in self._rows.values()
            if row.said is None
            and row.until is None
            and (person is None or row.record.binding.person == person)
        ]

    async def unfinished(self) -> list[Unfinished]:
        return [
            Unfinished(row.record.conversation, row.record.handler, row.record.deadline)
            for row in self._rows.values()
            if row.outcome is None and row.until is None
        ]

    async def open_flow(self, flow: Flow) -> None:
        known = self._flows.get(flow.elicitation_id)
        if known is not None and known.person != flow.person:
            raise StoreError("this elicitation id belongs to somebody else")
        if known is not None:
            flow = known._replace(deadline=max(known.deadline, flow.deadline))
        self._flows[flow.elicitation_id] = flow

    async def complete_flow(
        self, elicitation_id: str, *, person: str, now: float, events: Sequence[Record] = ()
    ) -> bool:
        flow = self._flows.get(elicitation_id)
        if flow is None or flow.person != person or now >= flow.deadline:
            return False
        self._flows[elicitation_id] = flow._replace(completed=True)
        self.ledger.add(events)
        return True

    async def find_flow(self, elicitation_id: str) -> Flow | None:
        return self._flows.get(elicitation_id)

    async def prune(self, now: float) -> int:
        over = [t for t, row in self._rows.items() if now >= (row.until or row.record.deadline + _GRACE)]
        for token in over:
            self._forget(token)
        flows = [i for i, flow in self._flows.items() if now >= flow.deadline]
        for elicitation_id in flows:
            del self._flows[elicitation_id]
        return len(over) + len(flows) + self.secrets.prune(now)

    async def aclose(self) -> None:
        self._rows.clear()
        self._tokens.clear()
        self._journals.clear()
        self._flows.clear()
        self.secrets.clear()
        self.ledger.clear()

    def _forget(self, token: str) -> None:
        conversation = self._rows.pop(token).record.conversation
        tokens = tuple(other for other in self._tokens[conversation] if other != token)
        if tokens:
            self._tokens[conversation] = tokens
        else:
            del self._tokens[conversation]
            self._journals.pop(conversation, None)


_NONE: dict[str, Json] = {}
"""What is left of the questions of a call that is over, shared by all."""
_GRACE = 3600.0
"""How long a round that nobody answered is remembered after its deadline, so that a late retry learns why."""


def _answers_of(row: _Row) -> tuple[Entry, ...]:
    pins = row.record.pins
    return tuple(Entry("answer", key, pins.get(key, ""), value) for key, value in (row.answers or {}).items())
