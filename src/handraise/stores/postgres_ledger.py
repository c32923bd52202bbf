"""The tables of the ledger: events, their places in the tree, contents that can be erased, signed notes, the head.

Events are written concurrently and get their numbers later, in batches: a number at writing time would make every
writer wait for the disk write of the one before. Until then each event has its own MAC.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, LiteralString

import psycopg

from handraise.calls.ledger_tables import (
    Anchor,
    Authenticator,
    Draft,
    Head,
    LedgerPlace,
    Record,
    Settle,
    Snapshot,
    StoredContent,
    StoredEvent,
    content_digest,
)
from handraise.disk import Leftover
from handraise.errors import StoreError
from handraise.stores.postgres_database import SCHEMA, Connection, Database
from handraise.stores.postgres_events import COLUMNS, EventWriter, placed_row, waiting_row
from handraise.stores.postgres_nodes import PRESENT
from handraise.stores.sql_tables import SqlLedgerReader

logger = logging.getLogger(__name__)

_PAGE: Final = 1000
_NUMBER: LiteralString = """
    WITH new AS (
        SELECT arrival, row_number() OVER (ORDER BY arrival) AS place FROM events WHERE number IS NULL
    )
    UPDATE events SET number = greatest(head.size, (SELECT max(number) FROM events)) + new.place
    FROM new, head WHERE events.arrival = new.arrival"""
_NOTHING_YET: Final = Head(0, b"", 0, b"", b"")
"""The first row of the head, which exists so that it can be locked."""
_MARK: LiteralString = """
    UPDATE events SET mac = new.mac FROM unnest(%s::bigint[], %s::bytea[]) AS new (number, mac)
    WHERE events.number = new.number"""
_FATES: LiteralString = """
    SELECT
        ARRAY(SELECT id FROM events WHERE id = ANY(%(ids)s)),
        ARRAY(SELECT id FROM events WHERE id = ANY(%(ids)s) AND coalesce(number > size, true)),
        EXISTS (SELECT FROM notes WHERE number > %(known)s AND note ~ E'\\ncut [0-9]+\\n'),
        notes
    FROM head"""
_GONE: LiteralString = f"SELECT name FROM nodes WHERE NOT {PRESENT}"  # noqa: S608 - SQL of ours, no input
_LEFT_OPEN: LiteralString = """
    SELECT body FROM (
        SELECT DISTINCT ON (question) body, open, writer FROM events WHERE arrival > %s
        ORDER BY question, arrival DESC
    ) AS last
    WHERE open AND writer = %s"""

_TABLES: Final = ("events", "leaves", "head", "contents", "notes")
_NOT_OURS: LiteralString = """
    SELECT c.relname FROM pg_class AS c WHERE relnamespace = %s::regnamespace AND relname = ANY(%s) AND (
        relkind <> 'r' OR relrowsecurity
        OR EXISTS (SELECT FROM pg_rewrite WHERE ev_class = c.oid)
        OR EXISTS (SELECT FROM pg_trigger WHERE tgrelid = c.oid)
        OR EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid)
    ) ORDER BY relname"""
"""Finds tables that are not plain tables. The attack: a view or a policy shows other records to the verification than
to a reader."""


class PostgresLedger(SqlLedgerReader):
    """The ledger in a database."""

    database: Database

    def __init__(self, database: Database, writer: EventWriter, enter: Callable[[], Awaitable[None]]) -> None:
        super().__init__(database)
        self._writer = writer
        self._enter = enter
        self._seen: Anchor | None = None
        """The newest head that this node saw. A later older one comes from a backup."""
        self._known_notes = 0
        """The number of notes at this node's last search for its events."""

    def attach(self, authenticator: Authenticator) -> None:
        self._writer.attach(authenticator)

    async def record(self, records: Sequence[Record]) -> None:
        await self._enter()
        await self._writer.tell(records)

    async def settle_orphans(self, settle: Settle) -> int:
        settled = 0
        for (name,) in await self.database.all(_GONE):
            settled += await self._settle_node(name, settle)
        return settled

    async def _settle_node(self, name: str, settle: Settle) -> int:
        """Settle one node's questions. Other nodes cannot settle them at the same time."""

        async def work(db: Connection) -> tuple[int, list[bytes]]:
            async with db.transaction():
                gone = f"SELECT first FROM nodes WHERE name = %s AND NOT {PRESENT} FOR UPDATE"  # noqa: S608 - SQL of ours, no input
                row = await (await db.execute(gone, (name,))).fetchone()
                if row is None:
                    return 0, []
                orphans = await (await db.execute(_LEFT_OPEN, (row[0], name))).fetchall()
                settled = [record for (body,) in orphans if (record := settle(body)) is not None]
                written = await self._writer.tell_in(db, settled)
                if len(settled) == len(orphans):
                    await db.execute("DELETE FROM nodes WHERE name = %s", (name,))
                return len(settled), written

        count, written = await self.database.run(work)
        self._writer.unplaced.update(written)
        return count

    async def place(self, limit: int) -> Head:
        async def place(db: Connection) -> Head:
            async with db.transaction():
                head = await self._head(db)
                await db.execute(_NUMBER)
                query: LiteralString = (
                    f"SELECT number, {COLUMNS} FROM events AS e WHERE number > %s ORDER BY number LIMIT %s"  # noqa: S608 - SQL of ours, no input
                )
                found = await (await db.execute(query, (head.size, limit))).fetchall()
                if not found:
                    return head
                if found[-1][0] != head.size + len(found):
                    raise StoreError(
                        f"an event between {head.size + 1} and {found[-1][0]} was removed from the ledger; run "
                        "`handraise ledger verify`"
                    )
                for _, *columns in found:
                    self._authentic.require_row(waiting_row(columns), placed=False)
                rows = [self._authentic.marked(placed_row(columns), placed=True) for _, *columns in found]
                # With another MAC an event cannot get a place again. Otherwise somebody could remove the newest events
                # and the whole tree, and let the rest be placed again.
                await db.execute(_MARK, ([number for number, *_ in found], [row.mac for row in rows]))
                grown, hashes = self._authentic.place(head, rows)
                query = (
                    "INSERT INTO leaves SELECT %s + place, hash"
                    " FROM unnest(%s::bytea[]) WITH ORDINALITY AS leaf (hash, place)"
                )
                await db.execute(query, (head.size, hashes))
                await _put_head(db, grown)
                return grown

        head = await self.database.run(place)
        await self._look_for_unplaced()
        return head

    async def _look_for_unplaced(self) -> None:
        """Sign an alarm if an event of this node is gone without a retention."""
        wrote = frozenset(self._writer.unplaced)
        if not wrote:
            return
        row = await self.database.one(_FATES, {"ids": list(wrote), "known": self._known_notes})
        if row is None:
            return
        there, waiting, was_cut, known_notes = row
        gone = [] if was_cut else sorted(id_.hex() for id_ in wrote.difference(there))
        if gone:
            logger.error(
                "%d events were removed from the ledger before they had a place in its tree", len(gone)
            )
            alarm = self._authentic.loss(int(self.database.now() * 1000))
            await self.add_note(lambda head, _: alarm(head, gone))
        # Not before the alarm is written: who keeps us from writing it now must not keep it away for good.
        self._writer.unplaced -= wrote - set(waiting)
        self._known_notes = known_notes

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        return _snapshot(self.database)

    async def _rows(self, query: LiteralString, params: Sequence[Any]) -> list[StoredEvent]:
        async def read(db: Connection) -> list[StoredEvent]:
            if await (await db.execute("SELECT 1 FROM events WHERE number IS NULL LIMIT 1")).fetchone():
                async with db.transaction():
                    await db.execute("SELECT FROM head FOR UPDATE")  # one at a time
                    await db.execute(_NUMBER)
            return [StoredEvent(*row) for row in await (await db.execute(query, params)).fetchall()]

        return await self.database.run(read)

    async def add_note(self, draft: Draft) -> str:
        async def add(db: Connection) -> str:
            async with db.transaction():
                return await self._add_note(db, draft, ())

        return await self.database.run(add)

    async def contents(self, refs: Collection[str]) -> dict[str, StoredContent]:
        query = "SELECT ref, key, body FROM contents WHERE ref = ANY(%s)"
        sealer = self.database.sealer
        found = await self.database.all(query, (list(refs),))
        kept = {
            ref: StoredContent(ref, sealer.open(key, f"contents/{ref}"), body) for ref, key, body in found
        }
        return {ref: kept[ref] for ref in refs if ref in kept}

    async def erase(self, refs: Collection[str], draft: Draft) -> int:
        async def erase(db: Connection) -> int:
            async with db.transaction():
                await self._head(db)  # same lock order everywhere: the head first
                query = "DELETE FROM contents WHERE ref = ANY(%s) RETURNING ref"
                gone = [ref for (ref,) in await (await db.execute(query, (list(refs),))).fetchall()]
                if gone:
                    await self._add_note(db, draft, gone)
                return len(gone)

        return await self.database.run(erase)

    async def purge(self) -> Leftover | None:
        return await self.database.purge("contents", "events")

    async def cut(self, upto: int, draft: Draft) -> int:
        async def cut(db: Connection) -> int:
            async with db.transaction():
                head = await self._head(db)
                last = min(upto, head.size)
                await db.execute(
                    "DELETE FROM contents USING events WHERE contents.event = events.id AND events.number <= %s",
                    (last,),
                )
                gone = await db.execute("DELETE FROM events WHERE number <= %s", (last,))
                await self._add_note(db, draft, ())
                return gone.rowcount

        return await self.database.run(cut)

    @property
    def _authentic(self) -> Authenticator:
        return self._writer.authenticator

    async def _head(self, db: Connection) -> Head:
        """The head, verified, and locked until the transaction ends.

        Nothing is written where somebody added a trigger or a rule: it could swallow the record, and then be removed.
        """
        changed = await (await db.execute(_NOT_OURS, (SCHEMA, list(_TABLES)))).fetchone()
        if changed is not None:
            raise StoreError(
                f"the table {changed[0]} is not the one that Handraise made; run `handraise ledger verify`"
            )
        row = await (await db.execute("SELECT size, peaks, notes, last, mac FROM head FOR UPDATE")).fetchone()
        if row is None:
            raise StoreError("the head of the ledger was removed; run `handraise ledger verify`")
        head = self._authentic.first() if row == _NOTHING_YET else Head(*row)
        self._authentic.require(head)
        anchor = self._authentic.anchor_of(head)
        if self._seen is not None:
            self._authentic.require_newest(head, self._seen)
        self._seen = anchor
        return head

    async def _add_note(self, db: Connection, draft: Draft, refs: Sequence[str]) -> str:
        head, note = draft(await self._head(db), refs)
        await db.execute("INSERT INTO notes VALUES (%s, %s)", (head.notes, note))
        await _put_head(db, head)
        return note


async def _put_head(db: Connection, head: Head) -> None:
    await db.execute("UPDATE head SET size = %s, peaks = %s, notes = %s, last = %s, mac = %s", head)


@asynccontextmanager
async def _snapshot(database: Database) -> AsyncIterator[Snapshot]:
    try:
        db = await database.connect()
        try:
            await db.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
            await db.set_read_only(True)
            async with db.transaction():
                snapshot = _PostgresSnapshot(db)
                await snapshot.read()
                yield snapshot
        finally:
            await db.close()
    except psycopg.Error as error:
        raise StoreError(f"PostgreSQL: {error}") from error


class _PostgresSnapshot:
    """A snapshot of the database in a read-only transaction."""

    anchored = False

    def __init__(self, db: Connection) -> None:
        self._db = db
        self.heads: Sequence[Head] = ()
        self.notes: Sequence[tuple[int, str]] = ()
        self.anchor: Anchor | None = None
        self.problems: Sequence[str] = ()

    async def read(self) -> None:
        changed = [name for (name,) in await self._all(_NOT_OURS, (SCHEMA, list(_TABLES)))]
        self.problems = [f"The table {name} is not the one that Handraise made." for name in changed]
        heads = [Head(*row) for row in await self._all("SELECT size, peaks, notes, last, mac FROM head")]
        self.heads = [head for head in heads if head != _NOTHING_YET]
        self.notes = [(number, note) for number, note in await self._all("TABLE notes ORDER BY number")]

    def places(self) -> AsyncIterator[Sequence[LedgerPlace]]:
        return self._places(
            f"SELECT l.number, l.hash, {COLUMNS} FROM leaves AS l LEFT JOIN events AS e USING (number)"  # noqa: S608 - SQL of ours, no input
            " ORDER BY l.number",
            placed=True,
        )

    def unplaced(self) -> AsyncIterator[Sequence[LedgerPlace]]:
        return self._places(
            f"SELECT e.number, NULL, {COLUMNS} FROM events AS e"  # noqa: S608 - SQL of ours, no input
            " WHERE NOT EXISTS (SELECT FROM leaves AS l WHERE l.number = e.number) ORDER BY e.number, e.arrival",
            placed=False,
        )

    async def _places(self, query: LiteralString, *, placed: bool) -> AsyncIterator[Sequence[LedgerPlace]]:
        async with self._db.cursor("places") as cursor:
            await cursor.execute(query)
            while rows := await cursor.fetchmany(_PAGE):
                yield [
                    LedgerPlace(number, leaf, None)
                    if columns[0] is None
                    else LedgerPlace(
                        number,
                        leaf,
                        placed_row(columns) if placed else waiting_row(columns),
                        columns[0].hex(),
                        waits=True,
                    )
                    for number, leaf, *columns in rows
                ]

    async def contents(self, refs: Collection[str]) -> dict[str, tuple[str, str]]:
        found = await self._all(
            "SELECT ref, event, key, body FROM contents WHERE ref = ANY(%s)", (list(refs),)
        )
        return {ref: (event.hex(), content_digest(key, body)) for ref, event, key, body in found}

    async def count_contents(self) -> int:
        return int((await self._all("SELECT count(*) FROM contents"))[0][0])

    async def _all(self, query: LiteralString, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return await (await self._db.execute(query, params)).fetchall()
