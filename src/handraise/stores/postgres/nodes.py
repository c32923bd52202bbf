"""Which nodes live: each says so again and again, by the database's clock; one that has not for its lease is gone."""

from __future__ import annotations

from typing import LiteralString

from handraise.stores.postgres.database import Connection, Database

LIVES: LiteralString = """EXISTS (
        SELECT FROM nodes WHERE nodes.name = owner AND nodes.until > clock_timestamp())"""
"""Whether the `owner` of a round lives."""

_BEAT: LiteralString = """
    INSERT INTO nodes
    VALUES (%(name)s, clock_timestamp() + make_interval(secs => %(lease)s),
        (SELECT coalesce(max(arrival), 0) FROM events))
    ON CONFLICT (name) DO UPDATE SET until = excluded.until"""


class Node:
    """The presence of one node."""

    def __init__(self, database: Database, name: str, lease: float) -> None:
        self._database = database
        self.name = name
        self.lease = lease

    async def beat(self) -> None:
        """Be present for another lease, and set the clock."""

        async def beat(db: Connection) -> None:
            await db.execute(_BEAT, {"name": self.name, "lease": self.lease})
            await self._database.set_clock(db)

        await self._database.run(beat)

    async def others(self) -> int:
        """How many other nodes live."""
        query = "SELECT count(*) FROM nodes WHERE until > clock_timestamp() AND name <> %s"
        row = await self._database.one(query, (self.name,))
        return 0 if row is None else int(row[0])

    async def leave(self) -> None:
        """Be present no more; what is in flight here is open for others at once."""
        query = "UPDATE nodes SET until = '-infinity' WHERE name = %s"
        await self._database.change(query, (self.name,))
