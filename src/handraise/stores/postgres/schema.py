"""The tables of the database, made by the first node that starts. Tables of another version are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, LiteralString

from handraise.errors import StoreError

if TYPE_CHECKING:
    from psycopg import AsyncConnection

SCHEMA: Final = "handraise"
VERSION: Final = 6
"""The version of all tables. A change of any table raises it."""
_LOCK = 0x68616E6472
"""The advisory lock for making the tables."""
_TABLES: Final[LiteralString] = """
    CREATE TABLE version (step integer PRIMARY KEY);
    CREATE TABLE nodes (
        name text PRIMARY KEY,
        until timestamptz NOT NULL,
        first bigint NOT NULL,
        lease interval NOT NULL,
        lease_id text NOT NULL
    );
    CREATE TABLE rounds (
        token text PRIMARY KEY,
        call_id text NOT NULL,
        number integer NOT NULL,
        person text NOT NULL,
        method text NOT NULL,
        target text NOT NULL,
        arguments bytea NOT NULL,
        deadline float8 NOT NULL,
        handler text,
        seed text NOT NULL,
        questions bytea,
        digest bytea,
        since float8,
        answers bytea,
        outcome text,
        outcome_value bytea,
        until float8,
        owner text,
        opened bigint GENERATED ALWAYS AS IDENTITY
    );
    CREATE INDEX rounds_by_call ON rounds (call_id);
    CREATE INDEX rounds_pending ON rounds (person) WHERE digest IS NULL AND until IS NULL;
    CREATE INDEX rounds_taken ON rounds (owner) WHERE digest IS NOT NULL AND outcome IS NULL;
    CREATE INDEX rounds_over ON rounds (coalesce(until, deadline + 3600));
    CREATE TABLE journal (
        call_id text NOT NULL,
        position integer NOT NULL,
        entry bytea NOT NULL,
        PRIMARY KEY (call_id, position)
    );
    CREATE TABLE flows (
        elicitation_id text PRIMARY KEY,
        person text NOT NULL,
        deadline float8 NOT NULL,
        completed boolean NOT NULL,
        proof bytea NOT NULL
    );
    CREATE TABLE secrets (
        row text NOT NULL UNIQUE,
        owner text COLLATE "C" NOT NULL,
        service text COLLATE "C" NOT NULL,
        wrapped bytea NOT NULL,
        sealed bytea NOT NULL,
        kept_at float8 NOT NULL,
        until float8,
        PRIMARY KEY (owner, service)
    );
    CREATE TABLE tickets (
        key text PRIMARY KEY,
        person text NOT NULL,
        server text NOT NULL,
        holder text NOT NULL,
        deadline float8 NOT NULL,
        call bytea,
        round bytea,
        sent boolean NOT NULL,
        outcome bytea
    );
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
