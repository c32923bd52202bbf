"""The table of flows: URL questions that somebody has to finish in a browser."""

from __future__ import annotations

from collections.abc import Sequence

from handraise.conversation.recorded import Record
from handraise.conversation.records import Flow
from handraise.errors import StoreError
from handraise.stores.postgres.along import Along
from handraise.stores.postgres.database import Database


class Flows:
    """The flows in a database."""

    def __init__(self, database: Database, along: Along) -> None:
        self._database = database
        self._along = along

    async def open(self, flow: Flow) -> None:
        kept = await self._database.change(
            "INSERT INTO flows VALUES (%s, %s, %s, %s) ON CONFLICT (elicitation_id) DO UPDATE"
            " SET deadline = greatest(flows.deadline, excluded.deadline) WHERE flows.person = excluded.person",
            flow,
        )
        if not kept:
            raise StoreError("this elicitation id belongs to somebody else")

    async def complete(self, elicitation_id: str, person: str, now: float, events: Sequence[Record]) -> bool:
        done = await self._along.write(
            "UPDATE flows SET completed = true"
            " WHERE elicitation_id = %(id)s AND person = %(person)s AND deadline > %(now)s",
            {"id": elicitation_id, "person": person, "now": now},
            events,
        )
        return done == 1

    async def find(self, elicitation_id: str) -> Flow | None:
        row = await self._database.one("SELECT * FROM flows WHERE elicitation_id = %s", (elicitation_id,))
        return None if row is None else Flow(*row)

    async def prune(self, now: float) -> int:
        return await self._database.change("DELETE FROM flows WHERE %s >= deadline", (now,))
