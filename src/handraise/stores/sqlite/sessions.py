"""The tables of legacy sessions: the nodes on this computer, what each of them has, and letters to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from handraise.conversation.sessions import Letter, Residence
from handraise.stores import sealed_sessions as rows
from handraise.stores.seal import Sealer
from handraise.stores.sqlite.file import SqliteFile

SCHEMA = """
CREATE TABLE IF NOT EXISTS hosts (
    node TEXT PRIMARY KEY,
    address BLOB NOT NULL,
    until REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sessions (
    session TEXT PRIMARY KEY,
    node TEXT NOT NULL,
    until REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS letters (
    id TEXT PRIMARY KEY,
    node TEXT NOT NULL,
    message BLOB NOT NULL,
    until REAL NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS letters_by_node ON letters (node);
"""


class SqliteSessions:
    """Legacy sessions in an SQLite file."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def announce(self, node: str, address: str | None, *, until: float) -> None:
        def write(db: sqlite3.Connection, sealer: Sealer) -> None:
            row = (node, rows.dump_address(sealer, node, address, until), until)
            db.execute("INSERT OR REPLACE INTO hosts VALUES (?, ?, ?)", row)

        await self._file.write(write)

    async def enter(self, session: str, node: str, *, until: float) -> None:
        row = (rows.name_of(session), node, until)
        await self._file.write(
            lambda db, _: db.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)", row)
        )

    async def find(self, session: str, *, now: float) -> Residence | None:
        def select(db: sqlite3.Connection, sealer: Sealer) -> Residence | None:
            row = db.execute(
                "SELECT hosts.node, address, hosts.until FROM sessions JOIN hosts USING (node)"
                " WHERE session = ? AND sessions.until > ? AND hosts.until > ?",
                (rows.name_of(session), now, now),
            ).fetchone()
            return None if row is None else rows.load_residence(sealer, row)

        return await self._file.read(select)

    async def leave(self, session: str) -> None:
        name = (rows.name_of(session),)
        await self._file.write(lambda db, _: db.execute("DELETE FROM sessions WHERE session = ?", name))

    async def post(self, letter: Letter) -> None:
        def insert(db: sqlite3.Connection, sealer: Sealer) -> None:
            db.execute("INSERT OR IGNORE INTO letters VALUES (?, ?, ?, ?)", rows.dump_letter(sealer, letter))

        await self._file.write(insert)

    async def letters(self, node: str) -> list[Letter]:
        def select(db: sqlite3.Connection, sealer: Sealer) -> list[Letter]:
            found = db.execute("SELECT * FROM letters WHERE node = ? ORDER BY rowid", (node,))
            return [rows.load_letter(sealer, row) for row in found]

        return await self._file.read(select)

    async def drop(self, ids: Sequence[str]) -> None:
        gone = [(id_,) for id_ in ids]
        await self._file.write(lambda db, _: db.executemany("DELETE FROM letters WHERE id = ?", gone))

    async def sign(self, text: str) -> bytes:
        return await self._file.read(lambda _, sealer: rows.sign(sealer, text))

    async def is_signed(self, text: str, proof: bytes) -> bool:
        return await self._file.read(lambda _, sealer: rows.is_signed(sealer, text, proof))

    async def prune(self, now: float) -> int:
        return await self._file.write(lambda db, _: prune(db, now))


def prune(db: sqlite3.Connection, now: float) -> int:
    """Delete what is over; how many went."""
    return sum(
        db.execute(f"DELETE FROM {table} WHERE ? >= until", (now,)).rowcount  # noqa: S608 - SQL of ours, no input
        for table in ("hosts", "sessions", "letters")
    )
