"""The tables of the ledger: events, their places in the tree, contents that can be erased, signed notes."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Collection, Sequence
from typing import Any

from handraise.conversation.recorded import Grow, Kept, Leaf, Record, Row, Settle, TreeState
from handraise.disk import Leftover
from handraise.errors import StoreError
from handraise.stores.seal import Sealer
from handraise.stores.sqlite.file import SqliteFile
from handraise.stores.sqlite.inserting import insert
from handraise.stores.sqlite.presence import Presence
from handraise.stores.sqlite.together import Together

SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    body BLOB NOT NULL,
    question TEXT NOT NULL,
    open INTEGER NOT NULL,
    writer TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS leaves (number INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS tree (size INTEGER NOT NULL, peaks BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS contents (
    ref TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    key BLOB NOT NULL,
    body BLOB
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS told (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notes (number INTEGER PRIMARY KEY, note TEXT NOT NULL) STRICT;
"""
# AUTOINCREMENT remembers the highest number, also after the newest rows were removed, so that none is given twice; one
# that was rolled back is given again, so there are no gaps. The only writer at a time is the one who has the
# transaction, so numbers follow commits.


class SqliteLedger:
    """The ledger in an SQLite file."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._together = Together(file, self.add)
        self._presence = Presence(file.path, "writer")
        self._open: set[str] = set()
        """The questions that this process left in flight so far."""

    def add(self, db: sqlite3.Connection, sealer: Sealer, records: Sequence[Record]) -> None:
        """Write events inside of a transaction, along with what they tell of."""
        if not records:
            return
        writer = self._presence.enter()
        last = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
        number = 0 if last is None else last[0]
        events: list[tuple[Any, ...]] = []
        contents: list[tuple[str, int, bytes, bytes | None]] = []
        for question, body, is_open, kept, once in records:
            if once and not _is_new(db, once, number + 1):
                continue
            number += 1
            events.append((number, body, question, is_open, writer))
            for ref, key, content in kept:
                contents.append((ref, number, key, content))
            (self._open.add if is_open else self._open.discard)(question)
        sealed = sealer.seal_all([(key, f"contents/{ref}") for ref, _, key, _ in contents])
        insert(db, "events", events)
        insert(
            db,
            "contents",
            [(ref, at, key, body) for (ref, at, _, body), key in zip(contents, sealed, strict=True)],
        )

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

                ended, some_wait = await self._file.write(end)
                count += ended
                if some_wait:
                    writers.remove(writer)  # to be looked at again by who comes next
        return count

    async def place(self, grow: Grow, limit: int) -> TreeState:
        return await self._file.write(lambda db, _: _place(db, grow, limit))

    async def tree(self) -> TreeState:
        return await self._file.read(lambda db, _: _tree(db))

    async def leaves(self, after: int, limit: int) -> list[Leaf]:
        query = (
            "SELECT number, hash, body FROM leaves LEFT JOIN events USING (number)"
            " WHERE number > ? ORDER BY number LIMIT ?"
        )
        return await self._file.read(lambda db, _: [Leaf(*row) for row in db.execute(query, (after, limit))])

    async def rows(self, after: int, limit: int) -> list[Row]:
        query = "SELECT number, body FROM events WHERE number > ? ORDER BY number LIMIT ?"
        return await self._file.read(lambda db, _: [Row(*row) for row in db.execute(query, (after, limit))])

    async def rows_before(self, number: int | None, limit: int) -> list[Row]:
        query = (
            "SELECT number, body FROM events WHERE number < coalesce(?, 9223372036854775807)"
            " ORDER BY number DESC LIMIT ?"
        )
        return await self._file.read(lambda db, _: [Row(*row) for row in db.execute(query, (number, limit))])

    async def add_note(self, note: str) -> None:
        await self._file.write(lambda db, _: db.execute("INSERT INTO notes (note) VALUES (?)", (note,)))

    async def notes(self) -> list[str]:
        return await self._file.read(
            lambda db, _: [note for (note,) in db.execute("SELECT note FROM notes ORDER BY number")]
        )

    async def contents(self, refs: Collection[str]) -> dict[str, Kept]:
        return await self._file.read(lambda db, sealer: _contents(db, sealer, refs))

    async def erase(self, refs: Collection[str]) -> int:
        def erase(db: sqlite3.Connection, _: Sealer) -> int:
            query = "DELETE FROM contents WHERE ref = ?"
            return sum(db.execute(query, (ref,)).rowcount for ref in refs)

        erased = await self._file.write(erase)
        await self._file.flush()
        return erased

    async def cut(self, upto: int, note: str) -> int:
        def cut(db: sqlite3.Connection, _: Sealer) -> int:
            (last,) = db.execute("SELECT coalesce(max(number), 0) FROM leaves").fetchone()
            gone = db.execute("DELETE FROM events WHERE number <= ?", (min(upto, last),)).rowcount
            db.execute("DELETE FROM contents WHERE number <= ?", (min(upto, last),))
            db.execute("DELETE FROM told WHERE number <= ?", (min(upto, last),))
            db.execute("INSERT INTO notes (note) VALUES (?)", (note,))
            return gone

        gone = await self._file.write(cut)
        await self._file.flush()
        return gone

    async def purge(self) -> Leftover | None:
        return await self._file.purge()

    def leave(self) -> None:
        """Say that this process writes no more. Whoever comes next looks after what it left in flight."""
        self._presence.leave(unfinished=bool(self._open))
        self._open.clear()


def _is_new(db: sqlite3.Connection, name: str, number: int) -> bool:
    """Whether an event that is written once was not written before; from now on it was."""
    return db.execute("INSERT OR IGNORE INTO told VALUES (?, ?)", (name, number)).rowcount == 1


def _tree(db: sqlite3.Connection) -> TreeState:
    row = db.execute("SELECT size, peaks FROM tree").fetchone()
    return TreeState(0, b"") if row is None else TreeState(*row)


def _place(db: sqlite3.Connection, grow: Grow, limit: int) -> TreeState:
    tree = _tree(db)
    found = db.execute(
        "SELECT number, body FROM events WHERE number > ? ORDER BY number LIMIT ?", (tree.size, limit)
    ).fetchall()
    if not found:
        return tree
    if found[-1][0] != tree.size + len(found):
        raise StoreError(f"an event between {tree.size + 1} and {found[-1][0]} was removed from the ledger")
    grown, hashes = grow(tree, [body for _, body in found])
    insert(db, "leaves", list(enumerate(hashes, tree.size + 1)))
    db.execute("DELETE FROM tree")
    db.execute("INSERT INTO tree VALUES (?, ?)", grown)
    return grown


def _contents(db: sqlite3.Connection, sealer: Sealer, refs: Collection[str]) -> dict[str, Kept]:
    found = {}
    for ref in refs:
        row = db.execute("SELECT key, body FROM contents WHERE ref = ?", (ref,)).fetchone()
        if row is not None:
            found[ref] = Kept(ref, sealer.open(row[0], f"contents/{ref}"), row[1])
    return found


def _orphans(db: sqlite3.Connection, writer: str) -> list[bytes]:
    """The last events of the questions that this writer left in flight and that nobody ended since."""
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
