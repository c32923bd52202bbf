"""The tables of the ledger: events, their places in the tree, contents that can be erased, signed notes, the head."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Final, TypeVar

from handraise.calls.ledger_tables import (
    Anchor,
    Authenticator,
    Draft,
    EventColumns,
    Head,
    LedgerPlace,
    Record,
    Settle,
    Snapshot,
    StoredContent,
    content_digest,
    dump_digests,
)
from handraise.disk import Leftover
from handraise.errors import LedgerError, StoreError
from handraise.stores.sealing import Sealer
from handraise.stores.sql_tables import SqlLedgerReader
from handraise.stores.sqlite_file import SqliteFile, WriteBatcher, reading_uri
from handraise.stores.sqlite_side_files import AnchorFile, Presence

T = TypeVar("T")

SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY,
    body BLOB NOT NULL,
    question TEXT NOT NULL,
    open INTEGER NOT NULL,
    writer TEXT NOT NULL,
    name TEXT NOT NULL,
    kept TEXT NOT NULL,
    mac BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS events_by_name ON events (name) WHERE name != '';
CREATE TABLE IF NOT EXISTS leaves (number INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS head (
    size INTEGER NOT NULL,
    peaks BLOB NOT NULL,
    notes INTEGER NOT NULL,
    last BLOB NOT NULL,
    mac BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS contents (
    ref TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    key BLOB NOT NULL,
    body BLOB
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notes (number INTEGER PRIMARY KEY, note TEXT NOT NULL) STRICT;
"""
# There is one writer at a time, so numbers follow commits. They come from the head, so that a number is never used
# twice, even after the newest rows were removed.

_PAGE: Final = 1000
_TRANSIENT: Final = frozenset(
    {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM}
)


class SqliteLedger(SqlLedgerReader):
    """The ledger in an SQLite file."""

    database: SqliteFile

    def __init__(self, file: SqliteFile) -> None:
        super().__init__(file)
        self._heads = _Heads(file)
        file.after_commit = self._heads.advance_anchor
        self._together = WriteBatcher(file, self.add)
        self._presence = Presence(file.path, "writer")
        self._open: set[str] = set()
        """The open questions of this process."""

    def attach(self, authenticator: Authenticator) -> None:
        self._heads.authenticator = authenticator

    def was_begun(self) -> bool:
        """Whether the files beside this file show that it had a ledger."""
        return self._heads.anchor.path.exists()

    def add(self, db: sqlite3.Connection, sealer: Sealer, records: Sequence[Record]) -> None:
        """Write events inside the transaction of their change."""
        if not records:
            return
        writer, head = self._presence.enter(), self._heads.read(db)
        new = [
            record
            for record in _without_repeats(records)
            if not record.once or not self._heads.has_event(db, record.once)
        ]
        events: list[EventColumns] = []
        contents: list[tuple[str, int, bytes, bytes | None]] = []
        for number, (question, body, is_open, kept, name) in enumerate(new, head.size + 1):
            rows = [(ref, number, sealer.seal(key, f"contents/{ref}"), said) for ref, key, said in kept]
            digests = {ref: content_digest(key, said) for ref, _, key, said in rows}
            event = EventColumns(body, question, int(is_open), writer, name, dump_digests(digests), b"")
            events.append(self._heads.authentic.marked(event, placed=True))
            contents += rows
            (self._open.add if is_open else self._open.discard)(question)
        if not events:
            return
        grown, hashes = self._heads.authentic.place(head, events)
        numbered = ((head.size + at, *event) for at, event in enumerate(events, 1))
        db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", numbered)
        db.executemany("INSERT INTO leaves VALUES (?, ?)", enumerate(hashes, head.size + 1))
        db.executemany("INSERT INTO contents VALUES (?, ?, ?, ?)", contents)
        self._heads.write(db, grown)

    def record(self, records: Sequence[Record]) -> Awaitable[None]:
        return self._together.write(records)

    async def settle_orphans(self, settle: Settle) -> int:
        count = 0
        with self._presence.gone() as writers:
            for writer in list(writers):

                def end(db: sqlite3.Connection, sealer: Sealer, writer: str = writer) -> tuple[int, bool]:
                    orphans = _orphans(db, writer)
                    settled = [record for body in orphans if (record := settle(body)) is not None]
                    self.add(db, sealer, settled)
                    return len(settled), len(settled) < len(orphans)

                ended, some_wait = await self.database.write(end)
                count += ended
                if some_wait:
                    writers.remove(writer)  # the next process looks at them again
        return count

    async def place(self, limit: int) -> Head:
        return await self.database.read(lambda db, _: _stored_head(db) or self._heads.authentic.first())

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        return _snapshot(self.database, self._heads.anchor)

    async def add_note(self, draft: Draft) -> str:
        return await self.database.write(lambda db, _: self._heads.add_note(db, draft, ()))

    async def contents(self, refs: Collection[str]) -> dict[str, StoredContent]:
        return await self.database.read(lambda db, sealer: _contents(db, sealer, refs))

    async def erase(self, refs: Collection[str], draft: Draft) -> int:
        def erase(db: sqlite3.Connection, _: Sealer) -> int:
            query = "DELETE FROM contents WHERE ref = ?"
            gone = [ref for ref in refs if db.execute(query, (ref,)).rowcount]
            if gone:
                self._heads.add_note(db, draft, gone)
            return len(gone)

        erased = await self.database.write(erase)
        await self.database.flush()
        return erased

    async def cut(self, upto: int, draft: Draft) -> int:
        def cut(db: sqlite3.Connection, _: Sealer) -> int:
            gone = db.execute("DELETE FROM events WHERE number <= ?", (upto,)).rowcount
            db.execute("DELETE FROM contents WHERE number <= ?", (upto,))
            self._heads.add_note(db, draft, ())
            return gone

        gone = await self.database.write(cut)
        await self.database.flush()
        return gone

    async def purge(self) -> Leftover | None:
        return await self.database.purge()

    def leave(self) -> None:
        """Unregister this process. The next process settles its open questions."""
        self._presence.leave(unfinished=bool(self._open))
        self._open.clear()


class _Heads:
    """Reads and writes the head of the ledger inside transactions, and updates the anchor."""

    def __init__(self, file: SqliteFile) -> None:
        self.anchor = AnchorFile(file.path)
        self.authenticator: Authenticator | None = None
        self._schema = file.schema
        self._version = -1
        """The version of the tables that were found to be ours. SQLite counts it up with every change of one."""
        self._moved = False
        """Whether the head may have changed since the anchor was written."""

    @property
    def authentic(self) -> Authenticator:
        if self.authenticator is None:
            raise StoreError("no ledger uses this store yet: make a Ledger of it first")
        return self.authenticator

    def read(self, db: sqlite3.Connection) -> Head:
        """The head, verified, and not older than the anchor."""
        self._require_own_tables(db)
        head, anchor = _stored_head(db), self.anchor.read()
        if head is not None:
            self.authentic.require(head)
        self.authentic.require_newest(head, anchor)
        if head is None:
            head = self.authentic.first()
        if anchor is None:  # before the first commit, so that no ledger exists without it
            self.anchor.create(self.authentic.anchor_of(head))
        return head

    def _require_own_tables(self, db: sqlite3.Connection) -> None:
        """Refuse to write where somebody added a trigger or a view: it could swallow what is written, and be gone."""
        (version,) = db.execute("PRAGMA schema_version").fetchone()
        if version != self._version:
            if changed := _changed_tables(db, self._schema):
                raise StoreError(f"{changed[0]} Run `handraise ledger verify`.")
            self._version = version

    def has_event(self, db: sqlite3.Connection, name: str) -> bool:
        """Whether a named event was written before, by somebody with the key."""
        query = (  # the last condition makes SQLite use the index
            "SELECT body, question, open, writer, name, kept, mac FROM events WHERE name = ? AND name != ''"
        )
        row = db.execute(query, (name,)).fetchone()
        if row is not None:
            self.authentic.require_row(EventColumns(*row), placed=True)
        return row is not None

    def write(self, db: sqlite3.Connection, head: Head) -> None:
        """Replace the head."""
        self._moved = True
        change = "UPDATE head SET size = ?, peaks = ?, notes = ?, last = ?, mac = ?"
        if db.execute(change, head).rowcount == 0:
            db.execute("INSERT INTO head VALUES (?, ?, ?, ?, ?)", head)

    def add_note(self, db: sqlite3.Connection, draft: Draft, refs: Sequence[str]) -> str:
        """Sign a note and keep it."""
        head, note = draft(self.read(db), refs)
        db.execute("INSERT INTO notes VALUES (?, ?)", (head.notes, note))
        self.write(db, head)
        return note

    def advance_anchor(self, db: sqlite3.Connection) -> None:
        """Copy the committed head into the anchor. The last written head may have been rolled back."""
        if self._moved:
            self._moved = False
            if (head := _stored_head(db)) is not None:
                self.anchor.advance(self.authentic.anchor_of(head))


def _without_repeats(records: Sequence[Record]) -> list[Record]:
    """The records without repeated names."""
    names = [record.once for record in records]
    return [record for at, record in enumerate(records) if not record.once or names.index(record.once) == at]


def _stored_head(db: sqlite3.Connection) -> Head | None:
    found = _heads(db)
    if len(found) > 1:
        raise StoreError("the ledger has two heads; run `handraise ledger verify`")
    return found[0] if found else None


def _heads(db: sqlite3.Connection) -> list[Head]:
    return [Head(*row) for row in db.execute("SELECT size, peaks, notes, last, mac FROM head LIMIT 2")]


def _contents(db: sqlite3.Connection, sealer: Sealer, refs: Collection[str]) -> dict[str, StoredContent]:
    query = "SELECT ref, key, body FROM contents WHERE ref IN (SELECT value FROM json_each(?))"
    found = {ref: (key, body) for ref, key, body in db.execute(query, (json.dumps(list(refs)),))}
    return {
        ref: StoredContent(ref, sealer.open(found[ref][0], f"contents/{ref}"), found[ref][1])
        for ref in refs
        if ref in found
    }


def _orphans(db: sqlite3.Connection, writer: str) -> list[bytes]:
    """The last events of a writer's questions that are still open."""
    last: dict[str, bytes] = {}
    for question, body, left_open, by in db.execute(
        "SELECT question, body, open, writer FROM events"
        " WHERE number >= (SELECT min(number) FROM events WHERE writer = ?) ORDER BY number",
        (writer,),
    ):
        if left_open and by == writer:
            last[question] = body
        else:
            last.pop(question, None)
    return list(last.values())


def _problems(db: sqlite3.Connection, schema: str) -> list[str]:
    """How the tables differ from ours, and whether the file is damaged."""
    (damage,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    return _changed_tables(db, schema) + (
        [] if damage == "ok" else [f"SQLite finds the file damaged: {damage}."]
    )


def _changed_tables(db: sqlite3.Connection, schema: str) -> list[str]:
    """How the tables differ from ours. The attack: a foreign view, trigger or index shows other
    records to the verification than to a reader."""
    with contextlib.closing(sqlite3.connect(":memory:")) as ours:
        ours.executescript(schema)
        expected = set(ours.execute(_OBJECTS))
    found = set(db.execute(_OBJECTS))
    changed = sorted({f"{kind} {name}" for kind, name, _, _ in found ^ expected})
    return [f"The {each} is not the one that Handraise made." for each in changed]


_OBJECTS: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master"


@asynccontextmanager
async def _snapshot(file: SqliteFile, anchor: AnchorFile) -> AsyncIterator[Snapshot]:
    opened = await asyncio.to_thread(_SqliteSnapshot, file, anchor)
    try:
        yield opened
    finally:
        await asyncio.to_thread(opened.close)


class _SqliteSnapshot:
    """A snapshot of the file through a read-only connection. It makes no files and needs no key."""

    anchored = True

    def __init__(self, file: SqliteFile, anchor: AnchorFile) -> None:
        self.anchor: Anchor | None = anchor.read()  # first: the database is read later, so it is not older
        path = file.path
        where = reading_uri(path) if path.exists() else "file::memory:"
        with _reading():
            self._db = sqlite3.connect(where, uri=True, isolation_level=None, check_same_thread=False)
            try:
                self._begin(file.schema, fresh=not path.exists())
            except BaseException:
                self._db.close()
                raise

    def _begin(self, schema: str, *, fresh: bool) -> None:
        db = self._db
        # Text that is not UTF-8 is a change to report, not an error.
        db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        db.execute("PRAGMA trusted_schema = OFF")  # the file may be an attacker's
        if fresh:
            db.executescript(schema)
        db.execute("BEGIN")
        self.problems: Sequence[str] = _problems(db, schema)
        self.heads: Sequence[Head] = _heads(db)
        self.notes: Sequence[tuple[int, str]] = db.execute(
            "SELECT number, note FROM notes ORDER BY number"
        ).fetchall()

    def close(self) -> None:
        self._db.close()

    def places(self) -> AsyncIterator[Sequence[LedgerPlace]]:
        return self._places(
            f"SELECT l.number, l.hash, {_COLUMNS} FROM leaves AS l LEFT JOIN events AS e USING (number)"  # noqa: S608 - SQL of ours, no input
            " ORDER BY l.number"
        )

    def unplaced(self) -> AsyncIterator[Sequence[LedgerPlace]]:
        return self._places(
            f"SELECT e.number, NULL, {_COLUMNS} FROM events AS e"  # noqa: S608 - SQL of ours, no input
            " WHERE NOT EXISTS (SELECT 1 FROM leaves AS l WHERE l.number = e.number) ORDER BY e.number"
        )

    async def _places(self, query: str) -> AsyncIterator[Sequence[LedgerPlace]]:
        cursor = await self._read(lambda: self._db.execute(query))
        while rows := await self._read(lambda: cursor.fetchmany(_PAGE)):
            yield [
                LedgerPlace(number, leaf, None if there is None else EventColumns(*row), str(number))
                for number, leaf, there, *row in rows
            ]

    async def contents(self, refs: Collection[str]) -> dict[str, tuple[str, str]]:
        query = "SELECT ref, number, key, body FROM contents WHERE ref IN (SELECT value FROM json_each(?))"
        found = await self._read(lambda: self._db.execute(query, (json.dumps(list(refs)),)).fetchall())
        return {ref: (str(number), _digest(key, body)) for ref, number, key, body in found}

    async def count_contents(self) -> int:
        ((count,),) = await self._read(lambda: self._db.execute("SELECT count(*) FROM contents").fetchall())
        return int(count)

    async def _read(self, work: Callable[[], T]) -> T:
        with _reading():
            return await asyncio.to_thread(work)


def _digest(key: object, body: object) -> str:
    """The digest of contents; empty for what no ledger could have written."""
    return content_digest(key, body) if isinstance(key, bytes) and isinstance(body, bytes | None) else ""


_COLUMNS: Final = "e.number, e.body, e.question, e.open, e.writer, e.name, e.kept, e.mac"


@contextmanager
def _reading() -> Iterator[None]:
    """Turn read errors into findings of damage, but not errors of access."""
    try:
        yield
    except (sqlite3.Error, UnicodeError) as error:  # the driver may fail to read SQLite's own error message
        if getattr(error, "sqlite_errorcode", None) in _TRANSIENT:
            raise StoreError(f"the ledger cannot be opened: {error}") from error
        raise LedgerError(f"the ledger cannot be read: {error}") from error
