"""Which nodes live: each says so again and again, by the database's clock; one that has not for its lease is gone.

A lease that is made longer before it ended is the same tenure. As long as a tenure lasts, nobody else went on with a
round of the node, so answers that are brought for this tenure may be used without asking the database.
"""

from __future__ import annotations

import secrets
import time
from typing import LiteralString

from handraise.stores.postgres.database import Connection, Database

PRESENT: LiteralString = """(
        nodes.until > '-infinity'
        AND greatest(nodes.until, pg_postmaster_start_time() + nodes.lease) > statement_timestamp())"""
"""Whether a node lives. While the database was away nobody could say so: from its start on each has a lease anew.

As of the statement's begin, from before it looked: a node that says in time that it lives is never taken for dead.
"""
LIVES: LiteralString = f"""EXISTS (SELECT FROM nodes WHERE nodes.name = owner AND {PRESENT})"""
"""Whether the `owner` of a round lives."""

_BEAT: LiteralString = """
    INSERT INTO nodes (name, until, lease, tenure, first)
    SELECT %(name)s, clock_timestamp() + lease, lease, %(new)s, (SELECT coalesce(max(arrival), 0) FROM events)
    FROM make_interval(secs => %(lease)s) AS lease
    ON CONFLICT (name) DO UPDATE SET until = excluded.until, tenure = CASE
        WHEN nodes.tenure = %(sure)s AND nodes.until > clock_timestamp() + nodes.lease / 3 THEN nodes.tenure
        ELSE excluded.tenure END
    RETURNING tenure"""
_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)
"""A clock that goes on while the computer sleeps, where there is one."""


class Node:
    """The presence of one node."""

    def __init__(self, database: Database, name: str, lease: float) -> None:
        self._database = database
        self.line: Database = database.aside()
        """For what the other nodes wait for."""
        self.name = name
        self.lease = lease
        self._tenure = ""
        self._sure_until = 0.0

    def tenure(self) -> str:
        """The name of our tenure; empty when it may have ended, or soon would."""
        return self._tenure if _ticks() < self._sure_until else ""

    async def enter(self) -> None:
        """Be present from now on."""
        await self.line.open()
        await self.beat()

    async def beat(self) -> None:
        """Be present for another lease, and set the clock."""

        async def beat(db: Connection) -> None:
            # Of a beat whose end we do not hear in time we do not know whether it came in time either.
            sure, self._tenure, begun = self._tenure, "", _ticks()
            told = {"name": self.name, "lease": self.lease, "sure": sure, "new": secrets.token_hex(8)}
            row = await (await db.execute(_BEAT, told)).fetchone()
            assert row is not None
            if _ticks() < begun + self.lease / 3:
                self._tenure, self._sure_until = row[0], begun + self.lease * 2 / 3
            await self._database.set_clock(db)

        await self.line.run(beat)

    async def others(self) -> int:
        """How many other nodes live."""
        query = f"SELECT count(*) FROM nodes WHERE {PRESENT} AND name <> %s"  # noqa: S608 - SQL of ours, no input
        row = await self._database.one(query, (self.name,))
        return 0 if row is None else int(row[0])

    async def leave(self) -> None:
        """Be present no more; what is in flight here is open for others at once."""
        self._tenure = ""
        query = "UPDATE nodes SET until = '-infinity' WHERE name = %s"
        try:
            await self.line.change(query, (self.name,))
        finally:
            await self.line.aclose()


def _ticks() -> float:
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
