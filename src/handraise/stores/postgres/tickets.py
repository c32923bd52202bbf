"""The table of parked calls: what was called, what was asked and how it ended, sealed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import LiteralString

from handraise.conversation.records import Json
from handraise.conversation.tickets import Ticket
from handraise.stores import sealed_tickets as rows
from handraise.stores.postgres.database import Connection, Database
from handraise.stores.postgres.nodes import PRESENT

_GONE: LiteralString = f"""
    SELECT holder FROM unnest(%s::text[]) AS holder
    WHERE NOT EXISTS (SELECT FROM nodes WHERE nodes.name = holder AND {PRESENT})"""  # noqa: S608 - SQL of ours, no input

_SETTLE: LiteralString = (
    "UPDATE tickets SET outcome = %s, deadline = %s, call = NULL, round = NULL WHERE key = %s"
)
_BOUND: LiteralString = "SELECT key, person, server, deadline FROM tickets WHERE key = %s FOR UPDATE"


class PostgresTickets:
    """Parked calls in a database."""

    def __init__(self, database: Database, node: str, start: Callable[[], Awaitable[None]]) -> None:
        """`start` has others know that this node lives."""
        self._database = database
        self._node = node
        self._start = start

    async def enter(self) -> str:
        await self._start()
        return self._node

    async def gone(self, holders: Collection[str]) -> set[str]:
        return {row[0] for row in await self._database.all(_GONE, (list(holders),))}

    async def open(self, ticket: Ticket) -> None:
        await self._database.change(
            "INSERT INTO tickets VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (key) DO NOTHING",
            rows.dump_ticket(self._database.sealer, ticket),
        )

    async def find(self, key: str) -> Ticket | None:
        row = await self._database.one("SELECT * FROM tickets WHERE key = %s", (key,))
        return None if row is None else rows.load_ticket(self._database.sealer, row)

    async def waiting(self, person: str) -> list[Ticket]:
        query = "SELECT * FROM tickets WHERE person = %s AND outcome IS NULL"
        found = await self._database.all(query, (person,))
        return [rows.load_ticket(self._database.sealer, row) for row in found]

    async def ask(self, key: str, round: Json) -> None:
        async def ask(db: Connection) -> None:
            async with db.transaction():
                if (bound := await _bound(db, key)) is not None:
                    sealed = rows.seal(self._database.sealer, bound, "round", round)
                    query = "UPDATE tickets SET round = %s, sent = false WHERE key = %s"
                    await db.execute(query, (sealed, key))

        await self._database.run(ask)

    async def send(self, key: str, *, holder: str) -> bool:
        query = "UPDATE tickets SET sent = true WHERE key = %s AND holder = %s"
        return await self._database.change(query, (key, holder)) == 1

    async def take(self, key: str, *, was: str, holder: str) -> bool:
        query = (
            "UPDATE tickets SET holder = %(holder)s WHERE key = %(key)s AND NOT sent AND outcome IS NULL"
            " AND holder IN (%(was)s, %(holder)s)"  # ours already: written, and the connection lost
        )
        return await self._database.change(query, {"key": key, "was": was, "holder": holder}) == 1

    async def settle(self, key: str, outcome: Json, *, until: float) -> None:
        async def settle(db: Connection) -> None:
            async with db.transaction():
                if (bound := await _bound(db, key)) is not None:
                    later = bound._replace(deadline=until)
                    sealed = rows.seal(self._database.sealer, later, "outcome", outcome)
                    await db.execute(_SETTLE, (sealed, until, key))

        await self._database.run(settle)

    async def prune(self, now: float) -> int:
        return await self._database.change("DELETE FROM tickets WHERE %s >= deadline", (now,))


async def _bound(db: Connection, key: str) -> rows.Bound | None:
    """The columns that sealed ones are bound to; the row is ours until the transaction ends."""
    row = await (await db.execute(_BOUND, (key,))).fetchone()
    return None if row is None else rows.Bound(*row)
