"""Parked calls in memory."""

from __future__ import annotations

from handraise.conversation.records import Json
from handraise.conversation.tickets import Ticket
from handraise.stores.processes import OnThisComputer


class MemoryTickets(OnThisComputer):
    """Parked calls that go with the process."""

    def __init__(self) -> None:
        self._rows: dict[str, Ticket] = {}

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
