"""The table of flows: URL questions that somebody has to finish in a browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

from handraise.conversation.recorded import Record
from handraise.conversation.records import Flow
from handraise.errors import StoreError
from handraise.stores import sealed_tickets as rows
from handraise.stores.postgres.along import Along
from handraise.stores.postgres.database import Connection, Database

_INSERT: LiteralString = (
    "INSERT INTO flows VALUES (%s, %s, %s, %s, %s) ON CONFLICT (elicitation_id) DO NOTHING"
)
_LOCKED: LiteralString = "SELECT * FROM flows WHERE elicitation_id = %s FOR UPDATE"
_PROLONG: LiteralString = "UPDATE flows SET deadline = %s, proof = %s WHERE elicitation_id = %s"


class Flows:
    """The flows in a database."""

    def __init__(self, database: Database, along: Along) -> None:
        self._database = database
        self._along = along

    async def open(self, flow: Flow) -> None:
        sealer = self._database.sealer

        async def open_flow(db: Connection) -> None:
            async with db.transaction():
                await db.execute(_INSERT, (*flow, rows.prove_flow(sealer, flow)))
                row = await (await db.execute(_LOCKED, (flow.elicitation_id,))).fetchone()
                assert row is not None
                known = rows.load_flow(sealer, row)
                if known.person != flow.person:
                    raise StoreError("this elicitation id belongs to somebody else")
                later = known._replace(deadline=max(known.deadline, flow.deadline))
                proof = rows.prove_flow(sealer, later)
                await db.execute(_PROLONG, (later.deadline, proof, flow.elicitation_id))

        await self._database.run(open_flow)

    async def complete(self, elicitation_id: str, person: str, now: float, events: Sequence[Record]) -> bool:
        while True:
            flow = await self.find(elicitation_id)
            if flow is None or flow.person != person or now >= flow.deadline:
                return False
            proof = rows.prove_flow(self._database.sealer, flow._replace(completed=True))
            done = await self._along.write(
                "UPDATE flows SET completed = true, proof = %(proof)s"
                " WHERE elicitation_id = %(id)s AND person = %(person)s AND deadline = %(deadline)s",
                {"id": elicitation_id, "person": person, "deadline": flow.deadline, "proof": proof},
                events,
            )
            if done:  # else it was prolonged meanwhile
                return True

    async def find(self, elicitation_id: str) -> Flow | None:
        row = await self._database.one("SELECT * FROM flows WHERE elicitation_id = %s", (elicitation_id,))
        return None if row is None else rows.load_flow(self._database.sealer, row)

    async def prune(self, now: float) -> int:
        return await self._database.change("DELETE FROM flows WHERE %s >= deadline", (now,))
