"""One PostgreSQL database: its connections and its clock. Callers wait while it is away.

Work is repeated after a lost connection, so it must have the same result whether its first try was committed or not:
our own row that exists already counts as written.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, LiteralString, TypeAlias, TypeVar

from handraise.disk import Leftover
from handraise.errors import SetupError, StoreError
from handraise.stores.rules import GRACE
from handraise.stores.sealing import Sealer
from handraise.stores.sql_tables import TABLES, in_postgres_words

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg.abc import Params


SCHEMA: Final = "handraise"
VERSION: Final = 6
"""The version of all tables. A change of any table raises it."""
_LOCK = 0x68616E6472
"""The advisory lock for making the tables."""
OVER: Final[LiteralString] = f"coalesce(until, deadline + {GRACE:.0f})"
"""SQL: until when a round is kept."""
_TABLES: Final[LiteralString] = f"""
    CREATE TABLE version (step integer PRIMARY KEY);
    CREATE TABLE nodes (
        name text PRIMARY KEY,
        until timestamptz NOT NULL,
        first bigint NOT NULL,
        lease interval NOT NULL,
        lease_id text NOT NULL
    );
    {in_postgres_words(TABLES)}
    ALTER TABLE rounds ADD COLUMN owner text, ADD COLUMN opened bigint GENERATED ALWAYS AS IDENTITY;
    CREATE INDEX rounds_taken ON rounds (owner) WHERE digest IS NOT NULL AND outcome IS NULL;
    CREATE INDEX rounds_over ON rounds ({OVER});
    CREATE TABLE events (
        arrival bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id bytea NOT NULL UNIQUE,
        number bigint UNIQUE,
        body bytea NOT NULL,
        question text NOT NULL,
        open boolean NOT NULL,
        writer text NOT NULL,
        kept text NOT NULL,
        mac bytea NOT NULL
    );
    CREATE INDEX events_new ON events (arrival) WHERE number IS NULL;
    CREATE TABLE leaves (number bigint PRIMARY KEY, hash bytea NOT NULL);
    CREATE TABLE head (
        single boolean PRIMARY KEY DEFAULT true CHECK (single),
        size bigint NOT NULL DEFAULT 0,
        peaks bytea NOT NULL DEFAULT '',
        notes bigint NOT NULL DEFAULT 0,
        last bytea NOT NULL DEFAULT '',
        mac bytea NOT NULL DEFAULT ''
    );
    INSERT INTO head DEFAULT VALUES;
    CREATE TABLE contents (ref text PRIMARY KEY, event bytea NOT NULL, key bytea NOT NULL, body bytea);
    CREATE INDEX contents_by_event ON contents (event);
    CREATE TABLE notes (number bigint PRIMARY KEY, note text NOT NULL);
    """


async def make_tables(db: AsyncConnection[Any]) -> None:
    """Make the tables if they do not exist. StoreError when another version of Handraise made them.

    Several nodes may start at once: one makes the tables, the others wait.
    """
    if await _require_version(db):
        return
    async with db.transaction():
        await db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if await _require_version(db):
            return
        await db.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        await db.execute(f"SET LOCAL search_path TO {SCHEMA}")
        await db.execute(_TABLES)
        await db.execute("INSERT INTO version VALUES (%s)", (VERSION,))


async def _require_version(db: AsyncConnection[Any]) -> bool:
    """Whether the tables exist. StoreError when they have another version."""
    # Not to_regclass: it may still answer from before we waited for the lock.
    query = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'version'"
    if await (await db.execute(query, (SCHEMA,))).fetchone() is None:
        return False
    row = await (await db.execute(f"SELECT max(step) FROM {SCHEMA}.version")).fetchone()  # noqa: S608 - SQL of ours, no input
    if row != (VERSION,):
        found = None if row is None else row[0]
        raise StoreError(
            f"the database was written by another version of Handraise (its tables have version {found}, this one "
            f"has version {VERSION}): use that version, or give this one another database"
        )
    return True


try:
    import psycopg
    from psycopg.pq import TransactionStatus
except ImportError as error:  # the base install has no driver
    raise SetupError("a PostgreSQL store needs the extra: pip install 'handraise[postgres]'") from error


T = TypeVar("T")
Connection: TypeAlias = "psycopg.AsyncConnection[tuple[Any, ...]]"
DatabaseWork: TypeAlias = Callable[[Connection], Awaitable[T]]

_PASSES = ("08", "40", "53300", "57P")
"""Temporary errors: lost connections, deadlocks, too many connections, a server that starts or stops."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5


class Database:
    """Runs work on at most `connections` connections, opened when they are needed."""

    def __init__(self, url: str, sealer: Sealer, *, patience: float, connections: int) -> None:
        self.url = url
        self.sealer = sealer
        self._patience = patience
        self._free = asyncio.Semaphore(connections)
        self._idle: list[Connection] = []
        self._keeps = True
        """False once the connections are closed: a late caller opens no new one."""
        self._has_tables = False
        self._behind: float | None = None
        self._trying: set[asyncio.Task[Any]] = set()

    def aside(self) -> Database:
        """The same database with a separate connection, for work that must not wait."""
        return Database(self.url, self.sealer, patience=self._patience, connections=1)

    async def run(self, work: DatabaseWork[T]) -> T:
        """Run the work and return its result. While the database is away the caller waits, then gets a `StoreError`."""
        trying = self._begin(work)
        try:
            # Not asyncio.timeout: a cancelled driver asks the server to cancel, and waits for it.
            await asyncio.wait((trying,), timeout=self._patience)
            if trying.done():
                return trying.result()
        finally:
            trying.cancel()
        raise StoreError(f"PostgreSQL has been away for {self._patience:g} seconds; the stored data is safe")

    def begin(self, work: DatabaseWork[None]) -> asyncio.Task[None]:
        """Begin work in the background. It is given up if the database stays away."""
        trying = self._begin(work)
        giving_up = asyncio.get_running_loop().call_later(self._patience, trying.cancel)
        trying.add_done_callback(lambda _: giving_up.cancel())
        return trying

    def _begin(self, work: DatabaseWork[T]) -> asyncio.Task[T]:
        trying = asyncio.get_running_loop().create_task(self._try(work))
        self._trying.add(trying)
        trying.add_done_callback(self._trying.discard)
        return trying

    async def _try(self, work: DatabaseWork[T]) -> T:
        pause = _FIRST_PAUSE
        while True:
            try:
                async with self._connection() as db:
                    return await work(db)
            except (UnicodeError, ValueError) as error:  # text that no database takes
                raise StoreError(f"PostgreSQL: {error}") from error
            except psycopg.Error as error:
                if not _passes(error):
                    raise StoreError(f"PostgreSQL: {error}") from error
            await self._drop_idle()
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def one(self, query: LiteralString, params: Params = ()) -> tuple[Any, ...] | None:
        """The first row of one statement, run as its own transaction."""

        async def work(db: Connection) -> tuple[Any, ...] | None:
            return await (await db.execute(query, params)).fetchone()

        return await self.run(work)

    async def all(self, query: LiteralString, params: Params = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement."""

        async def work(db: Connection) -> list[tuple[Any, ...]]:
            return await (await db.execute(query, params)).fetchall()

        return await self.run(work)

    async def get_sealer(self) -> Sealer:
        """The sealer of the contents."""
        return self.sealer

    async def flush(self) -> None:
        """No-op: PostgreSQL removes deleted rows by itself."""

    async def purge(self, *tables: LiteralString) -> Leftover:
        """Remove dead rows of these tables. Copies in PostgreSQL's logs and backups remain."""
        for table in tables:
            await self.change(f"VACUUM {table}")
        return Leftover(
            "PostgreSQL's write-ahead log, replicas and backups, and rows that an open transaction still sees",
            "only PostgreSQL itself removes these",
            again=False,
        )

    async def change(self, query: LiteralString, params: Params = ()) -> int:
        """How many rows one statement changed."""

        async def work(db: Connection) -> int:
            return (await db.execute(query, params)).rowcount

        return await self.run(work)

    async def connect(self) -> Connection:
        """A separate connection, in autocommit mode."""
        db = await psycopg.AsyncConnection.connect(self.url, autocommit=True, prepare_threshold=1)
        try:
            if not self._has_tables:
                await make_tables(db)
                self._has_tables = True
            await db.execute(f"SET search_path TO {SCHEMA}")
            if self._behind is None:
                await self.set_clock(db)
        except BaseException:
            await db.close()
            raise
        return db

    async def set_clock(self, db: Connection) -> None:
        """Use the database's clock, which is the same for every node."""
        before = time.monotonic()
        row = await (await db.execute("SELECT extract(epoch FROM clock_timestamp())::float8")).fetchone()
        assert row is not None
        self._behind = row[0] - (before + time.monotonic()) / 2

    def now(self) -> float:
        """The database's wall clock, in seconds."""
        return time.time() if self._behind is None else time.monotonic() + self._behind

    async def open(self) -> None:
        """Connect, make the tables, set the clock, and keep connections open from now on."""
        self._keeps = True
        await self.one("SELECT 1")

    async def aclose(self) -> None:
        """Close the connections. Until the next `open`, each piece of work uses a new one."""
        self._keeps = False
        await asyncio.gather(*self._trying, return_exceptions=True)
        await self._drop_idle()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        async with self._free:
            db = self._idle.pop() if self._idle else await self.connect()
            try:
                yield db
            finally:
                usable = not db.closed and db.info.transaction_status == TransactionStatus.IDLE
                if usable and self._keeps:
                    self._idle.append(db)
                else:
                    await db.close()

    async def _drop_idle(self) -> None:
        idle, self._idle = self._idle, []
        for db in idle:
            with suppress(psycopg.Error):
                await db.close()


def _passes(error: psycopg.Error) -> bool:
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate.startswith(_PASSES)
