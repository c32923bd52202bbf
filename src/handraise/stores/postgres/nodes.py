"""Which nodes live: each says so again and again, by the database's clock; one that has not for its lease is gone."""

from __future__ import annotations

from typing import LiteralString

from handraise.stores.postgres.database import Connection, Database

PRESENT: LiteralString = """(
        nodes.until > '-infinity'
        AND greatest(nodes.until, pg_postmaster_start_time() + nodes.lease) > clock_timestamp())"""
"""Whether a node lives. While the database was away nobody could say so: from its start on each has a lease anew."""
LIVES: LiteralString = f"""EXISTS (SELECT FROM nodes WHERE nodes.name = owner AND {PRESENT})"""
"""Whether the `owner` of a round lives."""

_BEAT: LiteralString = """
    INSERT INTO nodes (name, until, lease, first)
    SELECT %(name)s, clock_timestamp() + lease, lease, (SELECT coalesce(max(arrival), 0) FROM events)
    FROM make_interval(secs => %(lease)s) AS lease
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
        query = f"SELECT count(*) FROM nodes WHERE {PRESENT} AND name <> %s"  # noqa: S608
        row = await self._database.one(query, (self.name,))
        return 0 if row is None else int(row[0])

    async def leave(self) -> None:
        """Be present no more; what is in flight here is open for others at once."""
        query = "UPDATE nodes SET until = '-infinity' WHERE name = %s"
        await self._database.change(query, (self.name,))
