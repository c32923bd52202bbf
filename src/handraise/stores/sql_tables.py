"""The tables of a SQL database, parked calls and secrets in them, and what every such store does in the same way.

How rounds and the ledger are written in one transaction depends on the database.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, LiteralString, Protocol

from handraise.calls.ledger_tables import StoredEvent
from handraise.calls.store import Flow, Json, RoundRecord, Ticket, UnfinishedRound
from handraise.disk import Leftover
from handraise.stores import sealing
from handraise.stores.sealing import Sealer
from handraise.vault.vault import SealedSecret


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


TABLES: Final[LiteralString] = """
CREATE TABLE IF NOT EXISTS rounds (
    token TEXT PRIMARY KEY,
    call_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    person TEXT NOT NULL,
    method TEXT NOT NULL,
    target TEXT NOT NULL,
    arguments BLOB NOT NULL,
    deadline REAL NOT NULL,
    handler TEXT,
    seed TEXT NOT NULL,
    questions BLOB,
    digest BLOB,
    since REAL,
    answers BLOB,
    outcome TEXT,
    outcome_value BLOB,
    until REAL
) STRICT;
CREATE INDEX IF NOT EXISTS rounds_by_call ON rounds (call_id);
CREATE INDEX IF NOT EXISTS rounds_pending ON rounds (person) WHERE digest IS NULL AND until IS NULL;
CREATE TABLE IF NOT EXISTS journal (
    call_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    entry BLOB NOT NULL,
    PRIMARY KEY (call_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS flows (
    elicitation_id TEXT PRIMARY KEY,
    person TEXT NOT NULL,
    deadline REAL NOT NULL,
    completed INTEGER NOT NULL,
    proof BLOB NOT NULL
) STRICT, WITHOUT ROWID;
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
"""The tables of a store but those of its ledger, in the words of SQLite. See `in_postgres_words`."""


def in_postgres_words(tables: LiteralString) -> LiteralString:
    """The same tables for PostgreSQL. It compares text as SQLite does only with the collation C."""
    for sqlite, postgres in _WORDS:
        tables = tables.replace(sqlite, postgres)
    return tables


_WORDS: Final[tuple[tuple[LiteralString, LiteralString], ...]] = (
    (" IF NOT EXISTS", ""),
    (" STRICT, WITHOUT ROWID", ""),
    (" STRICT", ""),
    (" BLOB", " bytea"),
    (" REAL", " float8"),
    ("owner TEXT", 'owner TEXT COLLATE "C"'),
    ("service TEXT", 'service TEXT COLLATE "C"'),
    ("completed INTEGER", "completed boolean"),
    ("sent INTEGER NOT NULL DEFAULT 0", "sent boolean NOT NULL"),
)


class SqlStore:
    """What stores in SQL databases do in the same way."""

    oldest_first: LiteralString
    """The column that counts up with each round."""
    tickets: SqlTickets
    """The gateway's parked calls."""

    def __init__(self, database: SqlDatabase) -> None:
        self.database = database
        self.secrets: SqlSecrets = SqlSecrets(database)
        """The vault's table."""

    async def secret_for(self, purpose: str) -> bytes:
        """A secret for one purpose, the same for all users of the store."""
        return (await self.database.get_sealer()).derived(purpose)[0]

    async def pending(self, person: str | None = None) -> list[RoundRecord]:
        query: LiteralString = (
            f"SELECT {sealing.COLUMNS} FROM rounds WHERE digest IS NULL AND until IS NULL"  # noqa: S608 - SQL of ours, no input
            f" AND person = coalesce(%s, person) ORDER BY {self.oldest_first}"
        )
        found, sealer = await self.database.all(query, (person,)), await self.database.get_sealer()
        return [sealing.load_round(sealer, row) for row in found]

    async def unfinished(self) -> list[UnfinishedRound]:
        query = "SELECT call_id, handler, deadline FROM rounds WHERE outcome IS NULL AND until IS NULL"
        return [UnfinishedRound(*row) for row in await self.database.all(query)]

    async def find_flow(self, elicitation_id: str) -> Flow | None:
        row = await self.database.one("SELECT * FROM flows WHERE elicitation_id = %s", (elicitation_id,))
        return None if row is None else sealing.load_flow(await self.database.get_sealer(), row)

    async def prune(self, now: float) -> int:
        gone = await self._prune_rounds(now)
        gone += await self.database.change("DELETE FROM flows WHERE %s >= deadline", (now,))
        gone += await self.secrets.prune(now) + await self.tickets.prune(now)
        if gone:
            await self.database.flush()
        return gone

    async def _prune_rounds(self, now: float) -> int:
        """Delete the rounds that are over, and their journals; returns how many rounds."""
        raise NotImplementedError


class SqlLedgerReader:
    """Reads the tables of the ledger."""

    def __init__(self, database: SqlDatabase) -> None:
        self.database = database

    async def size(self) -> int:
        row = await self.database.one("SELECT size FROM head")
        return 0 if row is None else int(row[0])

    async def hashes(self, after: int, limit: int) -> list[bytes]:
        query = "SELECT hash FROM leaves WHERE number > %s ORDER BY number LIMIT %s"
        return [leaf for (leaf,) in await self.database.all(query, (after, limit))]

    async def rows(self, after: int, limit: int) -> list[StoredEvent]:
        query = "SELECT number, body FROM events WHERE number > %s ORDER BY number LIMIT %s"
        return await self._rows(query, (after, limit))

    async def rows_before(self, number: int | None, limit: int) -> list[StoredEvent]:
        query = (
            "SELECT number, body FROM events WHERE number < coalesce(%s, 9223372036854775807)"
            " ORDER BY number DESC LIMIT %s"
        )
        return await self._rows(query, (number, limit))

    async def _rows(self, query: LiteralString, params: Sequence[Any]) -> list[StoredEvent]:
        return [StoredEvent(*row) for row in await self.database.all(query, params)]

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
            sealing.dump_ticket(await self.database.get_sealer(), ticket),
        )

    async def find(self, key: str) -> Ticket | None:
        row = await self.database.one(_FIND, (key,))
        return None if row is None else sealing.load_ticket(await self.database.get_sealer(), row)

    async def waiting(self, person: str) -> list[Ticket]:
        query = "SELECT * FROM tickets WHERE person = %s AND outcome IS NULL"
        found, sealer = await self.database.all(query, (person,)), await self.database.get_sealer()
        return [sealing.load_ticket(sealer, row) for row in found]

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

    async def _bound(self, key: str) -> sealing.TicketColumns | None:
        """The columns that a sealed one is bound to. It is written only if they are still the same then."""
        row = await self.database.one(_FIND, (key,))
        return None if row is None else sealing.bound_columns(await self.database.get_sealer(), row)

    async def _sealed(self, bound: sealing.TicketColumns, column: str, value: Json) -> bytes | None:
        return sealing.seal_ticket_column(await self.database.get_sealer(), bound, column, value)


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
