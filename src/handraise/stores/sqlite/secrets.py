"""The table of the vault: sealed secrets, one an owner and service."""

from __future__ import annotations

import sqlite3

from handraise.disk import Leftover
from handraise.stores.sqlite.file import SqliteFile
from handraise.vault.records import SealedSecret

SCHEMA = """
CREATE TABLE IF NOT EXISTS secrets (
    row TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    service TEXT NOT NULL,
    wrapped BLOB NOT NULL,
    sealed BLOB NOT NULL,
    kept_at REAL NOT NULL,
    until REAL,
    PRIMARY KEY (owner, service)
) STRICT, WITHOUT ROWID;
"""


class SqliteSecrets:
    """The vault's table in an SQLite file."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def put(self, secret: SealedSecret) -> None:
        await self._file.write(
            lambda db, _: (
                db.execute("INSERT OR REPLACE INTO secrets VALUES (?, ?, ?, ?, ?, ?, ?)", secret).rowcount
            )
        )

    async def find(self, owner: str, service: str) -> SealedSecret | None:
        found = await self._file.read(lambda db, _: _select(db, "owner = ? AND service = ?", owner, service))
        return found[0] if found else None

    async def all(self, owner: str | None = None) -> list[SealedSecret]:
        return await self._file.read(lambda db, _: _select(db, "owner = coalesce(?, owner)", owner))

    async def remove(self, owner: str, service: str) -> bool:
        gone = await self._file.write(
            lambda db, _: (
                db.execute("DELETE FROM secrets WHERE owner = ? AND service = ?", (owner, service)).rowcount
            )
        )
        if gone:
            await self._file.flush()
        return gone == 1

    async def purge(self) -> Leftover | None:
        return await self._file.purge()

    async def rewrap(self, row: str, *, was: bytes, wrapped: bytes) -> bool:
        changed = await self._file.write(
            lambda db, _: (
                db.execute(
                    "UPDATE secrets SET wrapped = ? WHERE row = ? AND wrapped = ?", (wrapped, row, was)
                ).rowcount
            )
        )
        return changed == 1


def prune(db: sqlite3.Connection, now: float) -> int:
    """Delete what has expired; how many went."""
    return db.execute("DELETE FROM secrets WHERE ? >= until", (now,)).rowcount


def _select(db: sqlite3.Connection, where: str, *values: str | None) -> list[SealedSecret]:
    rows = db.execute(f"SELECT * FROM secrets WHERE {where} ORDER BY owner, service", values)  # noqa: S608 - SQL of ours, no input
    return [SealedSecret(*row) for row in rows]
