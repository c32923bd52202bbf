"""The tables of the ledger in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from handraise.conversation.recorded import Grow, Kept, Leaf, Record, Row, Settle, TreeState
from handraise.disk import Leftover


class MemoryLedger:
    """Keeps the ledger in lists. What it holds is gone with the process."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._count = 0
        self._rows: dict[int, bytes] = {}
        self._hashes: list[bytes] = []
        self._kept: dict[str, tuple[int, Kept]] = {}
        self._told: dict[str, int] = {}
        self._notes: list[str] = []
        self._tree = TreeState(0, b"")

    def add(self, records: Sequence[Record]) -> None:
        """Write events along with something else."""
        for record in records:
            if record.once in self._told:
                continue
            self._count += 1
            if record.once:
                self._told[record.once] = self._count
            self._rows[self._count] = record.body
            for kept in record.kept:
                self._kept[kept.ref] = (self._count, kept)

    async def record(self, records: Sequence[Record]) -> None:
        self.add(records)

    async def settle_orphans(self, settle: Settle) -> int:
        return 0  # what was in flight went with its process

    async def place(self, grow: Grow, limit: int) -> TreeState:
        size = self._tree.size
        numbers = range(size + 1, min(self._count, size + limit) + 1)
        self._tree, hashes = grow(self._tree, [self._rows[number] for number in numbers])
        self._hashes += hashes
        return self._tree

    async def tree(self) -> TreeState:
        return self._tree

    async def leaves(self, after: int, limit: int) -> list[Leaf]:
        found = self._hashes[after : after + limit]
        return [Leaf(number, leaf, self._rows.get(number)) for number, leaf in enumerate(found, after + 1)]

    async def rows(self, after: int, limit: int) -> list[Row]:
        numbers = (number for number in self._rows if number > after)
        return [Row(number, self._rows[number]) for number, _ in zip(numbers, range(limit), strict=False)]

    async def rows_before(self, number: int | None, limit: int) -> list[Row]:
        known = (at for at in reversed(self._rows) if number is None or at < number)
        return [Row(at, self._rows[at]) for at, _ in zip(known, range(limit), strict=False)]

    async def add_note(self, note: str) -> None:
        self._notes.append(note)

    async def notes(self) -> list[str]:
        return list(self._notes)

    async def contents(self, refs: Collection[str]) -> dict[str, Kept]:
        return {ref: self._kept[ref][1] for ref in refs if ref in self._kept}

    async def purge(self) -> Leftover | None:
        return None

    async def erase(self, refs: Collection[str]) -> int:
        return sum(self._kept.pop(ref, None) is not None for ref in set(refs))

    async def cut(self, upto: int, note: str) -> int:
        upto = min(upto, self._tree.size)
        gone = [number for number in self._rows if number <= upto]
        for number in gone:
            del self._rows[number]
        self._kept = {ref: row for ref, row in self._kept.items() if row[0] > upto}
        self._told = {name: number for name, number in self._told.items() if number > upto}
        self._notes.append(note)
        return len(gone)
