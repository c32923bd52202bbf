"""Which nodes live, and how they wake each other.

Each node renews its lease, by the database's clock. A node whose lease ran out is gone.
A wake-up is a hint for one node that something may have happened. Losing one costs time only.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from typing import LiteralString, TypeAlias

import psycopg

from handraise.errors import StoreError
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
    INSERT INTO nodes (name, until, lease, lease_id, first)
    SELECT %(name)s, clock_timestamp() + lease, lease, %(new)s, (SELECT coalesce(max(arrival), 0) FROM events)
    FROM make_interval(secs => %(lease)s) AS lease
    ON CONFLICT (name) DO UPDATE SET until = excluded.until, lease_id = CASE
        WHEN nodes.lease_id = %(sure)s AND nodes.until > clock_timestamp() + nodes.lease / 3 THEN nodes.lease_id
        ELSE excluded.lease_id END
    RETURNING lease_id"""
_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)
"""A clock that goes on while the computer sleeps, where there is one."""


class NodePresence:
    """The presence of one node."""

    def __init__(self, database: Database, name: str, lease: float) -> None:
        self._database = database
        self.line: Database = database.aside()
        """For what the other nodes wait for."""
        self.name = name
        self.lease = lease
        self._lease_id = ""
        self._sure_until = 0.0

    def lease_id(self) -> str:
        """The name of our lease_id; empty when it may have ended, or soon would."""
        return self._lease_id if _ticks() < self._sure_until else ""

    async def enter(self) -> None:
        """Be present from now on."""
        await self.line.open()
        await self.beat()

    async def beat(self) -> None:
        """Be present for another lease, and set the clock."""

        async def beat(db: Connection) -> None:
            # A late heartbeat reply proves nothing.
            sure, self._lease_id, begun = self._lease_id, "", _ticks()
            told = {"name": self.name, "lease": self.lease, "sure": sure, "new": secrets.token_hex(8)}
            row = await (await db.execute(_BEAT, told)).fetchone()
            assert row is not None
            if _ticks() < begun + self.lease / 3:
                self._lease_id, self._sure_until = row[0], begun + self.lease * 2 / 3
            await self._database.set_clock(db)

        await self.line.run(beat)

    async def others(self) -> int:
        """How many other nodes live."""
        query = f"SELECT count(*) FROM nodes WHERE {PRESENT} AND name <> %s"  # noqa: S608 - SQL of ours, no input
        row = await self._database.one(query, (self.name,))
        return 0 if row is None else int(row[0])

    async def leave(self) -> None:
        """Leave: other nodes may take this node's calls at once."""
        self._lease_id = ""
        query = "UPDATE nodes SET until = '-infinity' WHERE name = %s"
        try:
            await self.line.change(query, (self.name,))
        finally:
            await self.line.aclose()


def _ticks() -> float:
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


Told: TypeAlias = Callable[[str, str, bytes], None]
"""Called with the node that gives a hint, the token that it is about, and what it brings."""

_FULL = 7_900
"""PostgreSQL takes fewer than 8,000 bytes in one notification."""
_LONGEST = 3_800
_PAUSE = 0.2


class WakeUps:
    """Sends the hints of one node, and hears those which are for it."""

    def __init__(self, database: Database, node: NodePresence, told: Told) -> None:
        self._database = database
        self._node = node
        self._told = told
        self._waiting: dict[str, list[str]] = {}
        self._sending: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._hearing = asyncio.Event()

    async def start(self) -> None:
        """Listen, from now on if the database is there."""
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen(), name="handraise hints")
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE * 5):
                    await self._hearing.wait()

    async def stop(self) -> None:
        """Neither listen nor send any more."""
        tasks = [task for task in (self._listening, self._sending) if task is not None]
        self._listening = self._sending = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def give(self, node: str, token: str, delivered: bytes = b"") -> None:
        """Hint to a node, soon, that something happened to a round."""
        self._waiting.setdefault(node, []).append(_written(token, delivered))
        if self._sending is None or self._sending.done():
            self._sending = self._database.begin(self._send)

    async def _send(self, db: Connection) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, {}
            for node, hints in waiting.items():
                for payload in _packed(self._node.name, hints):
                    await db.execute("SELECT pg_notify(%s, %s)", (_channel(node), payload))

    async def _listen(self) -> None:
        while True:
            try:
                db = await self._database.connect()
                async with db:
                    await db.execute(f"LISTEN {_channel(self._node.name)}")
                    self._hearing.set()
                    async for notice in db.notifies():
                        self._hear(notice.payload)
            except (psycopg.Error, StoreError):
                await asyncio.sleep(_PAUSE)

    def _hear(self, payload: str) -> None:
        sender, *hints = payload.split(" ")
        for hint in hints:
            self._told(sender, *_read(hint))


def _written(token: str, delivered: bytes) -> str:
    """One hint. A message that is too long to send is left for the other node to fetch."""
    return f"{token}:{delivered.hex()}" if 0 < len(delivered) < _LONGEST else token


def _read(hint: str) -> tuple[str, bytes]:
    token, _, delivered = hint.partition(":")
    try:
        return token, bytes.fromhex(delivered)
    except ValueError:  # any user of the database may send anything
        return token, b""


def _packed(sender: str, hints: list[str]) -> list[str]:
    """The hints in as few payloads as they fit into."""
    packed = [sender]
    for hint in hints:
        if len(packed[-1]) + len(hint) >= _FULL:
            packed.append(sender)
        packed[-1] += f" {hint}"
    return packed


def _channel(node: str) -> str:
    return f"handraise_{node}"
