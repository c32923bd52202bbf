"""The tables of the ledger in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

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
from handraise.disk import Leftover
from handraise.errors import StoreError


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
