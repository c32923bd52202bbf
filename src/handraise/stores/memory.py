"""The store in memory, with the tables of its ledger."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from secrets import token_hex

from handraise.calls.ledger_tables import (
    Anchor,
    Authenticator,
    Draft,
    EventColumns,
    Head,
    LedgerPlace,
    Record,
    Settle,
    Snapshot,
    StoredContent,
    StoredEvent,
    content_digest,
    dump_digests,
)
from handraise.calls.rounds import RoundState, judge_use
from handraise.calls.store import (
    ConsumeResult,
    Flow,
    JournalEntry,
    Json,
    RoundOutcome,
    RoundRecord,
    RoundUse,
    Ticket,
    UnfinishedRound,
)
from handraise.disk import Leftover
from handraise.errors import StoreError
from handraise.stores.rules import GRACE, SingleNode, continue_flow, may_complete
from handraise.vault.vault import SealedSecret


class MemoryLedger:
    """Keeps the ledger in lists."""

    def __init__(self) -> None:
        self._authenticator: Authenticator | None = None
        self.clear()

    def attach(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator

    def clear(self) -> None:
        self._rows: dict[int, EventColumns] = {}
        self._hashes: list[bytes] = []
        self._kept: dict[str, tuple[int, StoredContent]] = {}
        self._named: dict[str, int] = {}
        self._notes: list[str] = []
        self._stored: Head | None = None

    def add(self, records: Sequence[Record]) -> None:
        """Write events together with another change."""
        if not records:
            return
        head, rows = self._head(), list[EventColumns]()
        for record in records:
            if record.once in self._named:
                continue
            number = head.size + len(rows) + 1
            if record.once:
                self._named[record.once] = number
            digests = {kept.ref: content_digest(kept.key, kept.body) for kept in record.kept}
            said = record.body, record.question, int(record.open), "", record.once, dump_digests(digests), b""
            rows.append(self._authentic.marked(EventColumns(*said), placed=True))
            self._kept |= {kept.ref: (number, kept) for kept in record.kept}
        self._rows |= dict(enumerate(rows, head.size + 1))
        self._stored, hashes = self._authentic.place(head, rows)
        self._hashes += hashes

    async def record(self, records: Sequence[Record]) -> None:
        self.add(records)

    async def settle_orphans(self, settle: Settle) -> int:
        return 0  # open questions ended with their process

    async def place(self, limit: int) -> Head:
        return self._head()

    async def size(self) -> int:
        return len(self._hashes)

    async def hashes(self, after: int, limit: int) -> list[bytes]:
        return self._hashes[after : after + limit]

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        return nullcontext(_MemorySnapshot(self))

    async def rows(self, after: int, limit: int) -> list[StoredEvent]:
        numbers = (number for number in self._rows if number > after)
        return [
            StoredEvent(number, self._rows[number].body)
            for number, _ in zip(numbers, range(limit), strict=False)
        ]

    async def rows_before(self, number: int | None, limit: int) -> list[StoredEvent]:
        known = (at for at in reversed(self._rows) if number is None or at < number)
        return [StoredEvent(at, self._rows[at].body) for at, _ in zip(known, range(limit), strict=False)]

    async def add_note(self, draft: Draft) -> str:
        self._stored, note = draft(self._head(), ())
        self._notes.append(note)
        return note

    async def notes(self) -> list[str]:
        return list(self._notes)

    async def contents(self, refs: Collection[str]) -> dict[str, StoredContent]:
        return {ref: self._kept[ref][1] for ref in refs if ref in self._kept}

    async def purge(self) -> Leftover | None:
        return None

    async def erase(self, refs: Collection[str], draft: Draft) -> int:
        gone = [ref for ref in set(refs) if self._kept.pop(ref, None) is not None]
        if gone:
            self._stored, note = draft(self._head(), gone)
            self._notes.append(note)
        return len(gone)

    async def cut(self, upto: int, draft: Draft) -> int:
        gone = [number for number in self._rows if number <= upto]
        for number in gone:
            del self._rows[number]
        self._kept = {ref: row for ref, row in self._kept.items() if row[0] > upto}
        self._named = {name: number for name, number in self._named.items() if number > upto}
        await self.add_note(draft)
        return len(gone)

    @property
    def _authentic(self) -> Authenticator:
        if self._authenticator is None:
            raise StoreError("no ledger uses this store yet: make a Ledger of it first")
        return self._authenticator

    def _head(self) -> Head:
        if self._stored is None:
            return self._authentic.first()
        self._authentic.require(self._stored)
        return self._stored


class _MemorySnapshot:
    """A copy of the lists."""

    anchored = False
    problems: Sequence[str] = ()

    def __init__(self, ledger: MemoryLedger) -> None:
        self.heads: Sequence[Head] = [] if ledger._stored is None else [ledger._stored]
        self.notes: Sequence[tuple[int, str]] = list(enumerate(ledger._notes, 1))
        self.anchor: Anchor | None = None
        self._rows, self._hashes, self._kept = dict(ledger._rows), list(ledger._hashes), dict(ledger._kept)

    async def places(self) -> AsyncIterator[Sequence[LedgerPlace]]:
        yield [
            LedgerPlace(number, leaf, self._rows.get(number), str(number))
            for number, leaf in enumerate(self._hashes, 1)
        ]

    async def unplaced(self) -> AsyncIterator[Sequence[LedgerPlace]]:
        yield [
            LedgerPlace(number, None, row, str(number))
            for number, row in self._rows.items()
            if number > len(self._hashes)
        ]

    async def contents(self, refs: Collection[str]) -> dict[str, tuple[str, str]]:
        found = ((ref, self._kept[ref]) for ref in refs if ref in self._kept)
        return {ref: (str(number), content_digest(kept.key, kept.body)) for ref, (number, kept) in found}

    async def count_contents(self) -> int:
        return len(self._kept)


class MemorySecrets:
    """Sealed secrets in memory."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], SealedSecret] = {}

    async def put(self, secret: SealedSecret) -> None:
        self._rows[secret.owner, secret.service] = secret

    async def find(self, owner: str, service: str) -> SealedSecret | None:
        return self._rows.get((owner, service))

    async def all(self, owner: str | None = None) -> list[SealedSecret]:
        return [row for key, row in sorted(self._rows.items()) if owner is None or key[0] == owner]

    async def remove(self, owner: str, service: str) -> bool:
        return self._rows.pop((owner, service), None) is not None

    async def purge(self) -> Leftover | None:
        return None

    async def rewrap(self, row: str, *, was: bytes, wrapped: bytes) -> bool:
        for key, secret in self._rows.items():
            if (secret.row, secret.wrapped) == (row, was):
                self._rows[key] = secret._replace(wrapped=wrapped)
                return True
        return False

    def prune(self, now: float) -> int:
        """Delete expired rows; returns how many."""
        over = [key for key, secret in self._rows.items() if secret.until is not None and now >= secret.until]
        for key in over:
            del self._rows[key]
        return len(over)

    def clear(self) -> None:
        """Forget everything."""
        self._rows.clear()


class MemoryTickets:
    """Parked calls in memory."""

    def __init__(self) -> None:
        self._rows: dict[str, Ticket] = {}
        self.holders: set[str] = set()
        """The gateways of this process."""

    async def enter(self) -> str:
        holder = token_hex(8)
        self.holders.add(holder)
        return holder

    async def gone(self, holders: Collection[str]) -> set[str]:
        return set(holders) - self.holders

    async def open(self, ticket: Ticket) -> None:
        self._rows[ticket.key] = ticket

    async def find(self, key: str) -> Ticket | None:
        return self._rows.get(key)

    async def waiting(self, person: str) -> list[Ticket]:
        return [row for row in self._rows.values() if row.person == person and row.outcome is None]

    async def ask(self, key: str, round: Json) -> None:
        if (row := self._rows.get(key)) is not None:
            self._rows[key] = row._replace(round=round, sent=False)

    async def send(self, key: str, *, holder: str) -> bool:
        row = self._rows.get(key)
        if row is None or row.holder != holder:
            return False
        self._rows[key] = row._replace(sent=True)
        return True

    async def take(self, key: str, *, was: str, holder: str) -> bool:
        row = self._rows.get(key)
        if row is None or row.holder != was or row.sent or row.outcome is not None:
            return False
        self._rows[key] = row._replace(holder=holder)
        return True

    async def settle(self, key: str, outcome: Json, *, until: float) -> None:
        if (row := self._rows.get(key)) is not None:
            self._rows[key] = row._replace(outcome=outcome, deadline=until, call=None, round=None)

    async def prune(self, now: float) -> int:
        over = [key for key, row in self._rows.items() if now >= row.deadline]
        for key in over:
            del self._rows[key]
        return len(over)


@dataclass(slots=True)
class _Row:
    record: RoundRecord
    answers: dict[str, Json] | None = None
    said: str | None = None
    since: float = 0.0
    outcome: RoundOutcome | None = None
    until: float | None = None

    @property
    def state(self) -> RoundState:
        record = self.record
        return RoundState(record.binding, record.deadline, self.until, self.said, self.since, self.outcome)


class MemoryStore(SingleNode):
    """Keeps everything in dictionaries. Everything in it is lost when the process ends."""

    durable = False

    def __init__(self) -> None:
        self._rows: dict[str, _Row] = {}
        self._tokens: dict[str, tuple[str, ...]] = {}
        self._journals: dict[str, list[JournalEntry]] = {}
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
        self._tokens[record.call_id] = (*self._tokens.get(record.call_id, ()), record.token)
        if record.journal:
            self._journals[record.call_id] = list(record.journal)
        else:
            self._journals.pop(record.call_id, None)
        self.ledger.add(events)

    async def find_round(self, token: str) -> RoundRecord | None:
        row = self._rows.get(token)
        if row is None:
            return None
        call_id = row.record.call_id
        newest = self._tokens[call_id][-1] == token
        journal = self._journals.get(call_id, ())
        return row.record._replace(journal=(*journal, *(_answers_of(row) if newest else ())))

    async def consume(self, token: str, use: RoundUse, *, events: Sequence[Record] = ()) -> ConsumeResult:
        row = self._rows.get(token)
        result = judge_use(None if row is None else row.state, use)
        if row is not None and result.verdict == "first":
            row.said, row.answers, row.since = use.said, use.answers, use.now
            self.ledger.add(events)
        return result

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
        row.until = row.record.deadline + GRACE
        self.ledger.add(events)
        return True

    async def append(self, call_id: str, entries: Sequence[JournalEntry]) -> None:
        self._journals.setdefault(call_id, []).extend(entries)

    async def settle(
        self,
        token: str,
        outcome: RoundOutcome,
        *,
        until: float,
        ends: str = "",
        events: Sequence[Record] = (),
    ) -> None:
        row = self._rows.get(token)
        if row is not None:
            row.outcome, row.until = outcome, until
        if ends:
            self._end(ends, until)
        self.ledger.add(events)

    async def end(self, call_id: str, *, until: float) -> None:
        self._end(call_id, until)

    def _end(self, call_id: str, until: float) -> None:
        self._journals.pop(call_id, None)
        for token in self._tokens.get(call_id, ()):
            row = self._rows[token]
            row.answers, row.until = None, until
            row.record = row.record._replace(questions={}, pins={}, journal=())

    async def pending(self, person: str | None = None) -> list[RoundRecord]:
        return [
            row.record._replace(journal=())
            for row in self._rows.values()
            if row.said is None
            and row.until is None
            and (person is None or row.record.binding.person == person)
        ]

    async def unfinished(self) -> list[UnfinishedRound]:
        return [
            UnfinishedRound(row.record.call_id, row.record.handler, row.record.deadline)
            for row in self._rows.values()
            if row.outcome is None and row.until is None
        ]

    async def open_flow(self, flow: Flow) -> None:
        self._flows[flow.elicitation_id] = continue_flow(self._flows.get(flow.elicitation_id), flow)

    async def complete_flow(
        self, elicitation_id: str, *, person: str, now: float, events: Sequence[Record] = ()
    ) -> bool:
        flow = self._flows.get(elicitation_id)
        if flow is None or not may_complete(flow, person, now):
            return False
        self._flows[elicitation_id] = flow._replace(completed=True)
        self.ledger.add(events)
        return True

    async def find_flow(self, elicitation_id: str) -> Flow | None:
        return self._flows.get(elicitation_id)

    async def prune(self, now: float) -> int:
        over = [t for t, row in self._rows.items() if now >= (row.until or row.record.deadline + GRACE)]
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
        call_id = self._rows.pop(token).record.call_id
        tokens = tuple(other for other in self._tokens[call_id] if other != token)
        if tokens:
            self._tokens[call_id] = tokens
        else:
            del self._tokens[call_id]
            self._journals.pop(call_id, None)


def _answers_of(row: _Row) -> tuple[JournalEntry, ...]:
    pins = row.record.pins
    return tuple(
        JournalEntry("answer", key, pins.get(key, ""), value) for key, value in (row.answers or {}).items()
    )
