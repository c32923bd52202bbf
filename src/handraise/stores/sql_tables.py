"""Parked calls and secrets in the tables of a SQL database, the same for every one.

Rounds and the ledger are not here: how they are written in one transaction depends on the database.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, LiteralString, Protocol

from handraise.calls.records import Json
from handraise.calls.store import Ticket
from handraise.disk import Leftover
from handraise.stores import sealed_rows as rows
from handraise.stores.seal import Sealer
from handraise.vault.records import SealedSecret


class SqlDatabase(Protocol):
    """A database that runs single statements, with `%s` for each value."""

    async def get_sealer(self) -> Sealer:
        """The sealer of its contents."""
        ...

    async def one(self, query: LiteralString, params: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """The first row of one statement."""
        ...

    async def all(self, query: LiteralString, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement."""
        ...

    async def change(self, query: LiteralString, params: Sequence[Any] = ()) -> int:
        """How many rows one statement changed."""
        ...

    async def flush(self) -> None:
        """Remove deleted data from the disk, as far as that is cheap."""
        ...

    async def purge(self, *tables: LiteralString) -> Leftover | None:
        """Remove deleted data of these tables from the disk. Returns what is left."""
        ...


_FIND: Final = "SELECT * FROM tickets WHERE key = %s"
_UNCHANGED: Final = "key = %s AND person = %s AND server = %s AND deadline = %s"
"""The values of `TicketColumns`."""


class SqlTickets:
    """Parked calls. The call, its question and its outcome are sealed."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def enter(self) -> str:
        raise NotImplementedError

    async def gone(self, holders: Collection[str]) -> set[str]:
        raise NotImplementedError

    async def open(self, ticket: Ticket) -> None:
        await self._database.change(
            "INSERT INTO tickets VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (key) DO NOTHING",
            rows.dump_ticket(await self._database.get_sealer(), ticket),
        )

    async def find(self, key: str) -> Ticket | None:
        row = await self._database.one(_FIND, (key,))
        return None if row is None else rows.load_ticket(await self._database.get_sealer(), row)

    async def waiting(self, person: str) -> list[Ticket]:
        query = "SELECT * FROM tickets WHERE person = %s AND outcome IS NULL"
        found, sealer = await self._database.all(query, (person,)), await self._database.get_sealer()
        return [rows.load_ticket(sealer, row) for row in found]

    async def ask(self, key: str, round: Json) -> None:
        while (bound := await self._bound(key)) is not None:
            sealed = await self._sealed(bound, "round", round)
            query = f"UPDATE tickets SET round = %s, sent = false WHERE {_UNCHANGED}"  # noqa: S608 - SQL of ours, no input
            if await self._database.change(query, (sealed, *bound)):
                return

    async def send(self, key: str, *, holder: str) -> bool:
        query = "UPDATE tickets SET sent = true WHERE key = %s AND holder = %s"
        return await self._database.change(query, (key, holder)) == 1

    async def take(self, key: str, *, was: str, holder: str) -> bool:
        query = (  # it may be ours already: the connection was lost after the write
            "UPDATE tickets SET holder = %s WHERE key = %s AND NOT sent AND outcome IS NULL AND holder IN (%s, %s)"
        )
        return await self._database.change(query, (holder, key, was, holder)) == 1

    async def settle(self, key: str, outcome: Json, *, until: float) -> None:
        while (bound := await self._bound(key)) is not None:
            sealed = await self._sealed(bound._replace(deadline=until), "outcome", outcome)
            query = (
                "UPDATE tickets SET outcome = %s, deadline = %s, call = NULL, round = NULL"  # noqa: S608 - SQL of ours, no input
                f" WHERE {_UNCHANGED}"
            )
            if await self._database.change(query, (sealed, until, *bound)):
                return

    async def prune(self, now: float) -> int:
        return await self._database.change("DELETE FROM tickets WHERE %s >= deadline", (now,))

    async def _bound(self, key: str) -> rows.TicketColumns | None:
        """The columns that a sealed one is bound to. It is written only if they are still the same then."""
        row = await self._database.one(_FIND, (key,))
        return None if row is None else rows.bound_columns(await self._database.get_sealer(), row)

    async def _sealed(self, bound: rows.TicketColumns, column: str, value: Json) -> bytes | None:
        return rows.seal_ticket_column(await self._database.get_sealer(), bound, column, value)


class SqlSecrets:
    """The vault's table."""

    def __init__(self, database: SqlDatabase) -> None:
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
        query = "SELECT * FROM secrets WHERE owner = coalesce(%s, owner) ORDER BY owner, service"
        return [SealedSecret(*row) for row in await self._database.all(query, (owner,))]

    async def remove(self, owner: str, service: str) -> bool:
        query = "DELETE FROM secrets WHERE owner = %s AND service = %s"
        removed = await self._database.change(query, (owner, service)) == 1
        await self._database.flush()
        return removed

    async def purge(self) -> Leftover | None:
        return await self._database.purge("secrets")

    async def rewrap(self, row: str, *, was: bytes, wrapped: bytes) -> bool:
        query = "UPDATE secrets SET wrapped = %s WHERE row = %s AND wrapped = %s"
        return await self._database.change(query, (wrapped, row, was)) == 1

    async def prune(self, now: float) -> int:
        return await self._database.change("DELETE FROM secrets WHERE %s >= until", (now,))
