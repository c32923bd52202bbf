"""Parked calls, secrets and flows in the tables of a SQL database, and what every one reads in the same way.

How rounds and the ledger are written in one transaction depends on the database.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, LiteralString, Protocol

from handraise.calls.store import Flow, Json, RoundRecord, Ticket, UnfinishedRound
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


class SqlRounds:
    """Reads rounds and flows."""

    oldest_first: LiteralString
    """The column that counts up with each round."""

    def __init__(self, database: SqlDatabase) -> None:
        self.database = database

    async def pending(self, person: str | None = None) -> list[RoundRecord]:
        query: LiteralString = (
            f"SELECT {rows.COLUMNS} FROM rounds WHERE digest IS NULL AND until IS NULL"  # noqa: S608 - SQL of ours, no input
            f" AND person = coalesce(%s, person) ORDER BY {self.oldest_first}"
        )
        found, sealer = await self.database.all(query, (person,)), await self.database.get_sealer()
        return [rows.load_round(sealer, row) for row in found]

    async def unfinished(self) -> list[UnfinishedRound]:
        query = "SELECT call_id, handler, deadline FROM rounds WHERE outcome IS NULL AND until IS NULL"
        return [UnfinishedRound(*row) for row in await self.database.all(query)]

    async def find_flow(self, elicitation_id: str) -> Flow | None:
        row = await self.database.one("SELECT * FROM flows WHERE elicitation_id = %s", (elicitation_id,))
        return None if row is None else rows.load_flow(await self.database.get_sealer(), row)

    async def prune_flows(self, now: float) -> int:
        """Delete what is over; returns how many."""
        return await self.database.change("DELETE FROM flows WHERE %s >= deadline", (now,))


class SqlLedgerReader:
    """Reads the tables of the ledger that need no place to be given first."""

    def __init__(self, database: SqlDatabase) -> None:
        self.database = database

    async def size(self) -> int:
        row = await self.database.one("SELECT size FROM head")
        return 0 if row is None else int(row[0])

    async def hashes(self, after: int, limit: int) -> list[bytes]:
        query = "SELECT hash FROM leaves WHERE number > %s ORDER BY number LIMIT %s"
        return [leaf for (leaf,) in await self.database.all(query, (after, limit))]

    async def notes(self) -> list[str]:
        return [note for (note,) in await self.database.all("SELECT note FROM notes ORDER BY number")]


_FIND: Final = "SELECT * FROM tickets WHERE key = %s"
_UNCHANGED: Final = "key = %s AND person = %s AND server = %s AND deadline = %s"
"""The values of `TicketColumns`."""


class SqlTickets:
    """Parked calls. The call, its question and its outcome are sealed."""

    def __init__(self, database: SqlDatabase) -> None:
        self.database = database

    async def enter(self) -> str:
        raise NotImplementedError

    async def gone(self, holders: Collection[str]) -> set[str]:
        raise NotImplementedError

    async def open(self, ticket: Ticket) -> None:
        await self.database.change(
            "INSERT INTO tickets VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (key) DO NOTHING",
            rows.dump_ticket(await self.database.get_sealer(), ticket),
        )

    async def find(self, key: str) -> Ticket | None:
        row = await self.database.one(_FIND, (key,))
        return None if row is None else rows.load_ticket(await self.database.get_sealer(), row)

    async def waiting(self, person: str) -> list[Ticket]:
        query = "SELECT * FROM tickets WHERE person = %s AND outcome IS NULL"
        found, sealer = await self.database.all(query, (person,)), await self.database.get_sealer()
        return [rows.load_ticket(sealer, row) for row in found]

    async def ask(self, key: str, round: Json) -> None:
        while (bound := await self._bound(key)) is not None:
            sealed = await self._sealed(bound, "round", round)
            query = f"UPDATE tickets SET round = %s, sent = false WHERE {_UNCHANGED}"  # noqa: S608 - SQL of ours, no input
            if await self.database.change(query, (sealed, *bound)):
                return

    async def send(self, key: str, *, holder: str) -> bool:
        query = "UPDATE tickets SET sent = true WHERE key = %s AND holder = %s"
        return await self.database.change(query, (key, holder)) == 1

    async def take(self, key: str, *, was: str, holder: str) -> bool:
        query = (  # it may be ours already: the connection was lost after the write
            "UPDATE tickets SET holder = %s WHERE key = %s AND NOT sent AND outcome IS NULL AND holder IN (%s, %s)"
        )
        return await self.database.change(query, (holder, key, was, holder)) == 1

    async def settle(self, key: str, outcome: Json, *, until: float) -> None:
        while (bound := await self._bound(key)) is not None:
            sealed = await self._sealed(bound._replace(deadline=until), "outcome", outcome)
            query = (
                "UPDATE tickets SET outcome = %s, deadline = %s, call = NULL, round = NULL"  # noqa: S608 - SQL of ours, no input
                f" WHERE {_UNCHANGED}"
            )
            if await self.database.change(query, (sealed, until, *bound)):
                return

    async def prune(self, now: float) -> int:
        return await self.database.change("DELETE FROM tickets WHERE %s >= deadline", (now,))

    async def _bound(self, key: str) -> rows.TicketColumns | None:
        """The columns that a sealed one is bound to. It is written only if they are still the same then."""
        row = await self.database.one(_FIND, (key,))
        return None if row is None else rows.bound_columns(await self.database.get_sealer(), row)

    async def _sealed(self, bound: rows.TicketColumns, column: str, value: Json) -> bytes | None:
        return rows.seal_ticket_column(await self.database.get_sealer(), bound, column, value)


class SqlSecrets:
    """The vault's table."""

    def __init__(self, database: SqlDatabase) -> None:
        self.database = database

    async def put(self, secret: SealedSecret) -> None:
        await self.database.change(
            "INSERT INTO secrets VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (owner, service) DO UPDATE"
            " SET (row, wrapped, sealed, kept_at, until) ="
            " (excluded.row, excluded.wrapped, excluded.sealed, excluded.kept_at, excluded.until)",
            secret,
        )

    async def find(self, owner: str, service: str) -> SealedSecret | None:
        query = "SELECT * FROM secrets WHERE owner = %s AND service = %s"
        row = await self.database.one(query, (owner, service))
        return None if row is None else SealedSecret(*row)

    async def all(self, owner: str | None = None) -> list[SealedSecret]:
        query = "SELECT * FROM secrets WHERE owner = coalesce(%s, owner) ORDER BY owner, service"
        return [SealedSecret(*row) for row in await self.database.all(query, (owner,))]

    async def remove(self, owner: str, service: str) -> bool:
        query = "DELETE FROM secrets WHERE owner = %s AND service = %s"
        removed = await self.database.change(query, (owner, service)) == 1
        await self.database.flush()
        return removed

    async def purge(self) -> Leftover | None:
        return await self.database.purge("secrets")

    async def rewrap(self, row: str, *, was: bytes, wrapped: bytes) -> bool:
        query = "UPDATE secrets SET wrapped = %s WHERE row = %s AND wrapped = %s"
        return await self.database.change(query, (wrapped, row, was)) == 1

    async def prune(self, now: float) -> int:
        return await self.database.change("DELETE FROM secrets WHERE %s >= until", (now,))
