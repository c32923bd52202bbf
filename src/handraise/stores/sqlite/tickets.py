"""The table of parked calls. The call, its question and its outcome are sealed."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from handraise.calls.records import Json
from handraise.calls.store import Ticket
from handraise.stores import sealed_rows as rows
from handraise.stores.seal import Sealer
from handraise.stores.sqlite.file import SqliteFile
from handraise.stores.sqlite.side_files import Presence

SCHEMA = """
CREATE TABLE IF NOT EXISTS tickets (
    key TEXT NOT NULL PRIMARY KEY,
    person TEXT NOT NULL,
    server TEXT NOT NULL,
    holder TEXT NOT NULL,
    deadline REAL NOT NULL,
    call BLOB,
    round BLOB,
    sent INTEGER NOT NULL DEFAULT 0,
    outcome BLOB
) STRICT, WITHOUT ROWID;
"""


class SqliteTickets:
    """Parked calls in an SQLite file."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._presence = Presence(file.path, "holder")

    async def enter(self) -> str:
        with self._presence.gone():  # their files are not needed now
            return self._presence.enter()

    async def gone(self, holders: Collection[str]) -> set[str]:
        return {holder for holder in holders if not self._presence.is_there(holder)}

    async def open(self, ticket: Ticket) -> None:
        def insert(db: sqlite3.Connection, sealer: Sealer) -> None:
            row = rows.dump_ticket(sealer, ticket)
            db.execute("INSERT INTO tickets VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

        await self._file.write(insert)

    async def find(self, key: str) -> Ticket | None:
        def select(db: sqlite3.Connection, sealer: Sealer) -> Ticket | None:
            row = db.execute("SELECT * FROM tickets WHERE key = ?", (key,)).fetchone()
            return None if row is None else rows.load_ticket(sealer, row)

        return await self._file.read(select)

    async def waiting(self, person: str) -> list[Ticket]:
        def select(db: sqlite3.Connection, sealer: Sealer) -> list[Ticket]:
            query = "SELECT * FROM tickets WHERE person = ? AND outcome IS NULL"
            return [rows.load_ticket(sealer, row) for row in db.execute(query, (person,))]

        return await self._file.read(select)

    async def ask(self, key: str, round: Json) -> None:
        def update(db: sqlite3.Connection, sealer: Sealer) -> None:
            if (bound := _bound(db, sealer, key)) is not None:
                sealed = rows.seal_ticket_column(sealer, bound, "round", round)
                db.execute("UPDATE tickets SET round = ?, sent = 0 WHERE key = ?", (sealed, key))

        await self._file.write(update)

    async def send(self, key: str, *, holder: str) -> bool:
        return await self._changes("UPDATE tickets SET sent = 1 WHERE key = ? AND holder = ?", key, holder)

    async def take(self, key: str, *, was: str, holder: str) -> bool:
        return await self._changes(
            "UPDATE tickets SET holder = ? WHERE key = ? AND holder = ? AND sent = 0 AND outcome IS NULL",
            holder,
            key,
            was,
        )

    async def settle(self, key: str, outcome: Json, *, until: float) -> None:
        def update(db: sqlite3.Connection, sealer: Sealer) -> None:
            if (bound := _bound(db, sealer, key)) is None:
                return
            sealed = rows.seal_ticket_column(sealer, bound._replace(deadline=until), "outcome", outcome)
            db.execute(
                "UPDATE tickets SET outcome = ?, deadline = ?, call = NULL, round = NULL WHERE key = ?",
                (sealed, until, key),
            )

        await self._file.write(update)

    def leave(self) -> None:
        """Unregister this process as a holder of calls."""
        self._presence.leave()

    async def prune(self, now: float) -> int:
        return await self._file.write(lambda db, _: prune(db, now))

    async def _changes(self, statement: str, *values: str) -> bool:
        changed = await self._file.write(lambda db, _: db.execute(statement, values).rowcount)
        return changed == 1


def _bound(db: sqlite3.Connection, sealer: Sealer, key: str) -> rows.TicketColumns | None:
    row = db.execute("SELECT * FROM tickets WHERE key = ?", (key,)).fetchone()
    return None if row is None else rows.bound_columns(sealer, row)


def prune(db: sqlite3.Connection, now: float) -> int:
    """Delete what is over; returns how many."""
    return db.execute("DELETE FROM tickets WHERE ? >= deadline", (now,)).rowcount
