"""The table of the vault: sealed secrets, one an owner and service."""

from __future__ import annotations

from handraise.disk import Leftover
from handraise.stores.postgres.database import Database
from handraise.vault.records import SealedSecret


class PostgresSecrets:
    """The vault's table in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, secret: SealedSecret) -> None:
        await self._database.change(
            "INSERT INTO secrets VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (owner, service) DO UPDATE"
            " SET (row, wrapped, sealed, kept_at, until) ="
            " (excluded.row, excluded.wrapped, excluded.sealed, excluded.kept_at, excluded.until)",
            secret,
        )

    async def find(self, owner: str, service: str) -> SealedSecret | None:
        query = "SELECT * FROM secrets WHERE owner = %s AND service = %s"
        row = await self._database.one(query, (owner, service))
        return None if row is None else SealedSecret(*row)

    async def all(self, owner: str | None = None) -> list[SealedSecret]:
        query = (
            "SELECT * FROM secrets WHERE %(owner)s::text IS NULL OR owner = %(owner)s ORDER BY owner, service"
        )
        return [SealedSecret(*row) for row in await self._database.all(query, {"owner": owner})]

    async def remove(self, owner: str, service: str) -> bool:
        query = "DELETE FROM secrets WHERE owner = %s AND service = %s"
        return await self._database.change(query, (owner, service)) == 1

    async def purge(self) -> Leftover | None:
        return await self._database.purge("secrets")

    async def rewrap(self, row: str, *, was: bytes, wrapped: bytes) -> bool:
        query = "UPDATE secrets SET wrapped = %s WHERE row = %s AND wrapped = %s"
        return await self._database.change(query, (wrapped, row, was)) == 1

    async def prune(self, now: float) -> int:
        return await self._database.change("DELETE FROM secrets WHERE %s >= until", (now,))
