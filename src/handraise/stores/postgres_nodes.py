"""The live nodes: their leases, how they wake each other, and the rounds that a node watches.

A node watches its own rounds, which others may answer, and rounds of others for which a request waits here.

Each node renews its lease, by the database's clock. A node whose lease ran out is gone.
A wake-up is a hint to a node that something may have happened. A lost hint only costs time.

Each node has one listener for hints, one poller and one heartbeat, however many rounds there are.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, LiteralString, TypeAlias

import psycopg

from handraise.calls.store import DeliveredAnswers, OnAnswered
from handraise.errors import StoreError
from handraise.stores.postgres_database import Connection, Database

if TYPE_CHECKING:
    from handraise.stores.postgres import PostgresStore, RoundOwner

PRESENT: LiteralString = """(
        nodes.until > '-infinity'
        AND greatest(nodes.until, pg_postmaster_start_time() + nodes.lease) > statement_timestamp())"""
"""SQL: whether a node lives. A restarted database gives each node a new lease, because none could renew meanwhile.

It uses the start time of the statement, so that a node that renews in time is never taken for dead.
"""
LIVES: LiteralString = f"""EXISTS (SELECT FROM nodes WHERE nodes.name = owner AND {PRESENT})"""
"""SQL: whether the `owner` of a round lives."""

_BEAT: LiteralString = """
    INSERT INTO nodes (name, until, lease, lease_id, first)
    SELECT %(name)s, clock_timestamp() + lease, lease, %(new)s, (SELECT coalesce(max(arrival), 0) FROM events)
    FROM make_interval(secs => %(lease)s) AS lease
    ON CONFLICT (name) DO UPDATE SET until = excluded.until, lease_id = CASE
        WHEN nodes.lease_id = %(sure)s AND nodes.until > clock_timestamp() + nodes.lease / 3 THEN nodes.lease_id
        ELSE excluded.lease_id END
    RETURNING lease_id"""
_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)
"""A clock that runs while the computer sleeps, if the system has one."""


class NodePresence:
    """The presence of one node."""

    def __init__(self, database: Database, name: str, lease: float) -> None:
        self._database = database
        self.line: Database = database.aside()
        """The separate connection for heartbeats and wake-ups."""
        self.name = name
        self.lease = lease
        self._lease_id = ""
        self._sure_until = 0.0

    def lease_id(self) -> str:
        """The id of our lease; empty if it may have ended or soon will."""
        return self._lease_id if _ticks() < self._sure_until else ""

    async def enter(self) -> None:
        """Register this node."""
        await self.line.open()
        await self.beat()

    async def beat(self) -> None:
        """Renew the lease, and set the clock."""

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
"""Called with the node that sends a hint, the token of the round, and the message."""

_FULL = 7_900
"""PostgreSQL takes fewer than 8,000 bytes in one notification."""
_LONGEST = 3_800
_PAUSE = 0.2


class WakeUps:
    """Sends and receives the hints of one node."""

    def __init__(self, database: Database, node: NodePresence, told: Told) -> None:
        self._database = database
        self._node = node
        self._told = told
        self._waiting: dict[str, list[str]] = {}
        self._sending: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._hearing = asyncio.Event()

    async def start(self) -> None:
        """Start listening, as soon as the database is there."""
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen(), name="handraise hints")
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE * 5):
                    await self._hearing.wait()

    async def stop(self) -> None:
        """Stop listening and sending."""
        tasks = [task for task in (self._listening, self._sending) if task is not None]
        self._listening = self._sending = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def give(self, node: str, token: str, delivered: bytes = b"") -> None:
        """Queue a hint to a node that something happened to a round."""
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
    """One hint. The other node must fetch a message that is too long to send."""
    return f"{token}:{delivered.hex()}" if 0 < len(delivered) < _LONGEST else token


def _read(hint: str) -> tuple[str, bytes]:
    token, _, delivered = hint.partition(":")
    try:
        return token, bytes.fromhex(delivered)
    except ValueError:  # any user of the database may send anything
        return token, b""


def _packed(sender: str, hints: list[str]) -> list[str]:
    """The hints, packed into as few payloads as possible."""
    packed = [sender]
    for hint in hints:
        if len(packed[-1]) + len(hint) >= _FULL:
            packed.append(sender)
        packed[-1] += f" {hint}"
    return packed


def _channel(node: str) -> str:
    return f"handraise_{node}"


logger = logging.getLogger(__name__)

_LOOK_AGAIN = 5.0
"""Seconds after which a waiting request checks by itself, if neither poller nor listener helps."""


class RoundWatcher:
    """Watches the rounds of one node."""

    def __init__(self, database: Database, node: NodePresence, rounds: PostgresStore, poll: float) -> None:
        self._node = node
        self._rounds = rounds
        self._poll = poll
        self._hints = WakeUps(database, node, self._told)
        self._listeners: list[OnAnswered] = []
        self._changes: dict[str, asyncio.Event] = {}
        self._askers: dict[str, set[str]] = {}
        self._present: tuple[asyncio.Task[None], ...] = ()
        self._starting = asyncio.Lock()
        self._chores: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Register this node and start watching."""
        if not self._present:
            async with self._starting:
                if not self._present:
                    await self._node.enter()
                    await self._hints.start()
                    beating = asyncio.create_task(self._beat(), name="handraise heartbeat")
                    polling = asyncio.create_task(self._look(), name="handraise poller")
                    self._present = (beating, polling)

    async def stop(self) -> None:
        """Stop watching and unregister."""
        if not self._present:
            return
        tasks = [*self._present, *self._chores]
        self._present = ()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._hints.stop()
        try:
            await self._node.leave()
        except StoreError as error:
            logger.warning("the other nodes learn only from our lease that we left: %s", error)

    # Rounds that are parked here.

    def on_answered(self, answered: OnAnswered) -> None:
        """Call `answered` for every round of this node that another node answered."""
        self._listeners.append(answered)

    def went_on(self, token: str) -> None:
        """Wake the nodes that wait for a round of this node."""
        for node in self._askers.pop(token, ()):
            self._hints.give(node, token)

    def _was_answered(self, token: str, delivered: DeliveredAnswers | None = None) -> None:
        if not any(answered(token, delivered) for answered in self._listeners):
            chore = asyncio.create_task(self._disown(token))
            self._chores.add(chore)
            chore.add_done_callback(self._chores.discard)

    async def _disown(self, token: str) -> None:
        try:
            await self._rounds.disown(token)
        except StoreError:
            return  # the poller finds it again
        self.went_on(token)

    # Rounds of others that somebody here waits for.

    def expect(self, token: str, owner: RoundOwner) -> None:
        """Tell the node of a parked round that it was answered, and wait for its outcome."""
        if token not in self._changes:
            self._changes[token] = asyncio.Event()
            self._hints.give(owner.node, token, owner.delivered)

    async def wait_for_change(self, token: str) -> None:
        """Wait until a round may have an outcome."""
        change = self._changes.setdefault(token, asyncio.Event())
        try:
            async with asyncio.timeout(_LOOK_AGAIN):
                await change.wait()
        except TimeoutError:
            pass
        finally:
            self._changes.pop(token, None)

    # Both.

    def _told(self, sender: str, token: str, sealed: bytes) -> None:
        change = self._changes.get(token)
        if change is not None:
            change.set()
        if change is None or sealed:
            self._askers.setdefault(token, set()).add(sender)
            lease_id = self._node.lease_id() if sealed else ""
            self._was_answered(token, self._rounds.unpack(token, sealed, lease_id) if lease_id else None)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._node.lease / 3)
            try:
                await self._node.beat()
            except StoreError as error:
                logger.warning("this node could not say that it lives: %s", error)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._poll)
            try:
                await self._look_once()
            except StoreError as error:
                logger.warning("this node could not look at the store: %s", error)

    async def _look_once(self) -> None:
        for token in await self._rounds.taken():
            self._was_answered(token)
        waiting = list(self._changes)
        if waiting:
            elsewhere = await self._rounds.still_elsewhere(waiting)
            for token in waiting:
                if token not in elsewhere and (change := self._changes.get(token)) is not None:
                    change.set()
