"""The schema, as the steps that lead to it. A step that was released is never changed: another one follows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, LiteralString

from handraise.errors import StoreError

if TYPE_CHECKING:
    from psycopg import AsyncConnection

SCHEMA = "handraise"
_LOCK = 0x68616E6472
"""The advisory lock under which one node changes the schema, and the others wait."""

STEPS: tuple[LiteralString, ...] = (
    """
    CREATE TABLE nodes (
        name text PRIMARY KEY,
        until timestamptz NOT NULL,
        first bigint NOT NULL
    );
    CREATE TABLE rounds (
        token text PRIMARY KEY,
        conversation text NOT NULL,
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
    CREATE INDEX rounds_by_conversation ON rounds (conversation);
    CREATE INDEX rounds_pending ON rounds (person) WHERE digest IS NULL AND until IS NULL;
    CREATE INDEX rounds_taken ON rounds (owner) WHERE digest IS NOT NULL AND outcome IS NULL;
    CREATE INDEX rounds_over ON rounds (coalesce(until, deadline + 3600));
    CREATE TABLE journal (
        conversation text NOT NULL,
        position integer NOT NULL,
        entry bytea NOT NULL,
        PRIMARY KEY (conversation, position)
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
        writer text NOT NULL
    );
    CREATE INDEX events_new ON events (arrival) WHERE number IS NULL;
    CREATE TABLE leaves (number bigint PRIMARY KEY, hash bytea NOT NULL);
    CREATE TABLE tree (
        single boolean PRIMARY KEY DEFAULT true CHECK (single),
        numbered bigint NOT NULL DEFAULT 0,
        size bigint NOT NULL DEFAULT 0,
        peaks bytea NOT NULL DEFAULT ''
    );
    INSERT INTO tree DEFAULT VALUES;
    CREATE TABLE contents (ref text PRIMARY KEY, event bytea NOT NULL, key bytea NOT NULL, body bytea);
    CREATE INDEX contents_by_event ON contents (event);
    CREATE TABLE notes (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text NOT NULL);
    """,
    """
    CREATE TABLE hosts (node text PRIMARY KEY, address bytea NOT NULL, until float8 NOT NULL);
    CREATE TABLE sessions (session text PRIMARY KEY, node text NOT NULL, until float8 NOT NULL);
    CREATE INDEX sessions_over ON sessions (until);
    CREATE TABLE letters (
        id text PRIMARY KEY,
        node text NOT NULL,
        message bytea NOT NULL,
        until float8 NOT NULL,
        posted bigint GENERATED ALWAYS AS IDENTITY
    );
    CREATE INDEX letters_by_node ON letters (node);
    ALTER TABLE nodes ADD COLUMN lease interval NOT NULL DEFAULT '15 seconds';
    """,
    """
    ALTER TABLE nodes ADD COLUMN tenure text NOT NULL DEFAULT '';
    """,
    # Events from before cannot be authenticated afterwards, and nobody's records are thrown away here.
    """
    DO $$ BEGIN
        IF EXISTS (SELECT FROM events) THEN
            RAISE EXCEPTION 'the ledger in this database was written by an earlier version of Handraise; '
                'export it with that version, then use another database';
        END IF;
    END $$;
    DROP TABLE tree;
    CREATE TABLE head (
        single boolean PRIMARY KEY DEFAULT true CHECK (single),
        size bigint NOT NULL DEFAULT 0,
        peaks bytea NOT NULL DEFAULT '',
        notes bigint NOT NULL DEFAULT 0,
        last bytea NOT NULL DEFAULT '',
        mac bytea NOT NULL DEFAULT ''
    );
    INSERT INTO head DEFAULT VALUES;
    ALTER TABLE events ADD COLUMN kept text NOT NULL;
    ALTER TABLE events ADD COLUMN mac bytea NOT NULL;
    ALTER TABLE notes ALTER COLUMN number DROP IDENTITY;
    """,
)


async def migrate(db: AsyncConnection[Any]) -> tuple[int, int]:
    """Bring the schema up to date, in one transaction; the versions before and after.

    Safe when several nodes start at once: one does it, the others wait and find it done.
    """
    before = await version(db)
    if before != len(STEPS):
        async with db.transaction():
            await db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            before = await version(db)
            await _take_steps(db, before)
    return before, len(STEPS)


async def version(db: AsyncConnection[Any]) -> int:
    """How many steps the database has taken; 0 when it knows nothing of us."""
    # Not to_regclass: it may remember, from before we waited for the lock, that there was no such table.
    query = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'version'"
    if await (await db.execute(query, (SCHEMA,))).fetchone() is None:
        return 0
    row = await (await db.execute(f"SELECT max(step) FROM {SCHEMA}.version")).fetchone()  # noqa: S608 - SQL of ours, no input
    return 0 if row is None or row[0] is None else int(row[0])


async def _take_steps(db: AsyncConnection[Any], before: int) -> None:
    if before > len(STEPS):
        raise StoreError(
            f"the database was written by a newer version of Handraise (schema {before}, this one knows "
            f"{len(STEPS)}); update this node"
        )
    await db.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    await db.execute(f"SET LOCAL search_path TO {SCHEMA}")
    await db.execute("CREATE TABLE IF NOT EXISTS version (step integer PRIMARY KEY)")
    for number, step in enumerate(STEPS[before:], before + 1):
        await db.execute(step)
        await db.execute("INSERT INTO version VALUES (%s)", (number,))
