"""The tables of rounds and of the journal: what pausing and resuming keeps.

A round has an owner: the node where the body is parked. While that node lives the round is its to go on with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString, NamedTuple

from handraise.conversation.digest import Written
from handraise.conversation.recorded import Record
from handraise.conversation.records import (
    Binding,
    Brought,
    Consumption,
    Entry,
    Json,
    Outcome,
    RoundRecord,
    Unfinished,
)
from handraise.errors import StoreError
from handraise.stores import sealed_rounds as rows
from handraise.stores.postgres.along import Along
from handraise.stores.postgres.database import Connection, Database
from handraise.stores.postgres.nodes import LIVES, PRESENT

_INSERT: LiteralString = f"""
    INSERT INTO rounds ({rows.COLUMNS}, owner)
    VALUES (%(token)s, %(conversation)s, %(number)s, %(person)s, %(method)s, %(target)s, %(arguments)s, %(deadline)s,
        %(handler)s, %(seed)s, %(questions)s, %(node)s)
    ON CONFLICT (token) DO NOTHING"""  # noqa: S608 - SQL of ours, no input
_JOURNAL: LiteralString = """,
    cut AS (
        DELETE FROM journal WHERE conversation = %(conversation)s AND position >= %(length)s
            AND EXISTS (SELECT FROM done)
    ),
    steps AS (
        INSERT INTO journal
        SELECT %(conversation)s, place - 1, entry FROM unnest(%(entries)s::bytea[]) WITH ORDINALITY AS e (entry, place)
        WHERE EXISTS (SELECT FROM done)
        ON CONFLICT (conversation, position) DO UPDATE SET entry = excluded.entry
    )"""
_FIND: LiteralString = f"""
    SELECT {rows.COLUMNS}, answers,
        EXISTS (SELECT FROM rounds later WHERE later.conversation = r.conversation AND later.number > r.number),
        (SELECT array_agg(entry ORDER BY position) FROM journal WHERE journal.conversation = r.conversation)
    FROM rounds r WHERE token = %s"""  # noqa: S608 - SQL of ours, no input
_JUDGED: LiteralString = f"""
    SELECT {rows.JUDGED}, owner, (SELECT tenure FROM nodes WHERE name = owner AND name <> %s AND {PRESENT})
    FROM rounds WHERE token = %s"""  # noqa: S608 - SQL of ours, no input
_DIGEST = rows.JUDGED.split(", ").index("digest")
_USE: LiteralString = """
    UPDATE rounds SET digest = %(digest)s, answers = %(answers)s, since = %(now)s
    WHERE token = %(token)s AND digest IS NULL AND until IS NULL"""
_HOLD: LiteralString = f"""
    UPDATE rounds SET since = %(now)s, owner = %(node)s
    WHERE token = %(token)s AND since = %(since)s AND outcome IS NULL
        AND (owner IS NULL OR owner = %(node)s OR NOT {LIVES})"""  # noqa: S608 - SQL of ours, no input
_TAKE_UP: LiteralString = """
    UPDATE rounds SET since = %(now)s
    WHERE token = %(token)s AND owner = %(node)s AND digest IS NOT NULL AND outcome IS NULL
        AND set_config('synchronous_commit', 'off', true) IS NOT NULL
    RETURNING answers"""
# A take-up need not wait for the disk: should it be lost, the round is this node's as before, and goes on here.
_SETTLE: LiteralString = """
    UPDATE rounds SET outcome = %(kind)s, outcome_value = %(value)s, until = %(until)s WHERE token = %(token)s"""
_SETTLE_AND_END: LiteralString = """
    UPDATE rounds SET answers = NULL, questions = NULL, until = %(until)s,
        outcome = CASE WHEN token = %(token)s THEN %(kind)s ELSE outcome END,
        outcome_value = CASE WHEN token = %(token)s THEN %(value)s ELSE outcome_value END
    WHERE conversation = %(conversation)s"""
_END: LiteralString = """,
    forgotten AS (DELETE FROM journal WHERE conversation = %(conversation)s)"""
_PRUNE: LiteralString = """
    WITH gone AS (
        DELETE FROM rounds WHERE coalesce(until, deadline + 3600) <= %(now)s RETURNING conversation
    ),
    forgotten AS (
        DELETE FROM journal USING gone WHERE journal.conversation = gone.conversation AND NOT EXISTS (
            SELECT FROM rounds r
            WHERE r.conversation = gone.conversation AND coalesce(r.until, r.deadline + 3600) > %(now)s
        )
    )
    SELECT count(*) FROM gone"""


class Home(NamedTuple):
    """The other node where a round is parked, which lives."""

    node: str
    tenure: str
    brought: bytes = b""
    """The answers that are taken in its name, sealed for it; nothing when it has to take them up itself."""


class Rounds:
    """The rounds in a database, as one node sees them."""

    def __init__(self, database: Database, along: Along, node: str) -> None:
        self._database = database
        self._along = along
        self._node = node

    async def open(self, record: RoundRecord, events: Sequence[Record]) -> None:
        sealer, conversation = self._database.sealer, record.conversation
        names = rows.COLUMNS.split(", ")
        entries = [entry for _, _, entry in rows.dump_entries(sealer, conversation, 0, record.journal)]
        params: dict[str, Any] = dict(zip(names, rows.dump_round(sealer, record), strict=True))
        params |= {"node": self._node, "length": len(entries), "entries": entries}
        if await self._along.write(_INSERT, params, events, more=_JOURNAL):
            return
        query = "SELECT 1 FROM rounds WHERE token = %s AND questions = %s"
        if await self._database.one(query, (record.token, params["questions"])) is None:
            raise StoreError("a round with this token exists already")
        # Sealed by this very call: it was written, and the connection was lost before we heard of it.

    async def find(self, token: str) -> RoundRecord | None:
        row = await self._database.one(_FIND, (_text(token),))
        if row is None:
            return None
        sealer, record = self._database.sealer, rows.load_round(self._database.sealer, row)
        answers, is_older, steps = row[11:]
        journal = rows.load_entries(sealer, record.conversation, steps or ())
        given = () if is_older else rows.load_answers(sealer, token, answers, record.pins)
        return record._replace(journal=(*journal, *given))

    async def consume(
        self,
        token: str,
        binding: Binding,
        answers: dict[str, Json],
        said: Written,
        now: float,
        events: Sequence[Record],
    ) -> tuple[Consumption, Home | None]:
        """What the retry is told, and where the body is if that is elsewhere."""
        sealer, sealed = self._database.sealer, b""
        while True:
            row = await self._database.one(_JUDGED, (self._node, _text(token)))
            if row is not None and sealed and row[_DIGEST] == sealed:
                # By us; the connection was lost before we heard of it.
                taken = Consumption("first", since=now)
            else:
                taken = rows.judge(sealer, token, row, binding, said, now)
            home = None if taken.verdict == "refused" or taken.outcome is not None else _home(row)
            taken = taken._replace(elsewhere=home is not None)
            if taken.verdict != "first" or sealed:
                return taken, home
            home = home and self._bringing(home, token, Brought(answers, now))
            sealed, given = rows.dump_use(sealer, token, said, answers)
            use = {"digest": sealed, "answers": given, "now": now, "token": token}
            if await self._along.write(_USE, use, events):
                return taken, home

    def _bringing(self, home: Home, token: str, brought: Brought) -> Home:
        """What to bring, sealed before the answers are kept: from then on they are waited for."""
        if not home.tenure:  # a node of an earlier version, which takes them up itself
            return home
        return home._replace(brought=rows.dump_brought(self._database.sealer, token, home.tenure, brought))

    async def hold(self, token: str, since: float, now: float) -> bool:
        params = {"token": _text(token), "since": since, "now": now, "node": self._node}
        return await self._database.change(_HOLD, params) == 1

    async def take_up(self, token: str, now: float) -> Brought | None:
        params = {"token": token, "now": now, "node": self._node}
        row = await self._database.one(_TAKE_UP, params)
        if row is None:
            return None
        given = rows.load_answers(self._database.sealer, token, row[0], {})
        return Brought({entry.key: entry.value for entry in given}, now)

    def unpack(self, token: str, sealed: bytes, tenure: str) -> Brought | None:
        """The answers that were brought to a round of this node; None unless they are for this very lease of it."""
        try:
            return rows.load_brought(self._database.sealer, token, tenure, sealed)
        except StoreError:
            return None

    async def disown(self, token: str) -> None:
        """The body is not here: whoever waits for the round may go on with it."""
        query = "UPDATE rounds SET owner = NULL WHERE token = %s AND owner = %s AND outcome IS NULL"
        await self._database.change(query, (token, self._node))

    async def close(self, token: str, events: Sequence[Record]) -> bool:
        query = "UPDATE rounds SET until = deadline + 3600 WHERE token = %(token)s AND digest IS NULL"
        return await self._along.write(query, {"token": _text(token)}, events) == 1

    async def append(self, conversation: str, entries: Sequence[Entry]) -> None:
        sealer = self._database.sealer
        tried: list[tuple[str, int, bytes]] = []

        async def append(db: Connection) -> None:
            nonlocal tried
            async with db.transaction():
                await db.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (conversation,))
                query = (
                    "SELECT coalesce(max(position) + 1, 0), count(*) FILTER (WHERE entry = ANY(%s))"
                    " FROM journal WHERE conversation = %s"
                )
                found = await db.execute(query, ([entry for *_, entry in tried], conversation))
                position, written = await found.fetchone() or (0, 0)
                if written:  # at the first try, whose connection was lost before we heard of it
                    return
                tried = rows.dump_entries(sealer, conversation, position, entries)
                async with db.cursor() as cursor:
                    await cursor.executemany("INSERT INTO journal VALUES (%s, %s, %s)", tried)

        if entries:
            await self._database.run(append)

    async def settle(
        self, token: str, outcome: Outcome, until: float, ends: str, events: Sequence[Record]
    ) -> None:
        value = rows.dump_outcome(self._database.sealer, token, outcome)
        params = {"kind": outcome.kind, "value": value, "until": until, "token": token, "conversation": ends}
        query, more = (_SETTLE_AND_END, _END) if ends else (_SETTLE, "")
        await self._along.write(query, params, events, more=more, always=True)

    async def end(self, conversation: str, until: float) -> None:
        query = (
            "UPDATE rounds SET answers = NULL, questions = NULL, until = %(until)s"
            " WHERE conversation = %(conversation)s"
        )
        await self._along.write(query, {"conversation": conversation, "until": until}, (), more=_END)

    async def pending(self, person: str | None) -> list[RoundRecord]:
        query = (
            f"SELECT {rows.COLUMNS} FROM rounds WHERE digest IS NULL AND until IS NULL"  # noqa: S608 - SQL of ours, no input
            " AND (%(person)s::text IS NULL OR person = %(person)s) ORDER BY opened"
        )
        found = await self._database.all(query, {"person": person})
        return [rows.load_round(self._database.sealer, row) for row in found]

    async def unfinished(self) -> list[Unfinished]:
        query = "SELECT conversation, handler, deadline FROM rounds WHERE outcome IS NULL AND until IS NULL"
        return [Unfinished(*row) for row in await self._database.all(query)]

    async def prune(self, now: float) -> int:
        row = await self._database.one(_PRUNE, {"now": now})
        return 0 if row is None else int(row[0])

    async def taken(self) -> list[str]:
        """The rounds of this node that were answered and did not go on yet."""
        query = "SELECT token FROM rounds WHERE owner = %s AND digest IS NOT NULL AND outcome IS NULL"
        return [token for (token,) in await self._database.all(query, (self._node,))]

    async def still_elsewhere(self, tokens: Sequence[str]) -> set[str]:
        """Those of the rounds that did not go on, and whose node lives."""
        query = f"SELECT token FROM rounds WHERE token = ANY(%s) AND outcome IS NULL AND {LIVES}"  # noqa: S608 - SQL of ours, no input
        return {token for (token,) in await self._database.all(query, (list(tokens),))}


def _home(row: Sequence[Any] | None) -> Home | None:
    owner, tenure = (None, None) if row is None else row[rows.JUDGED_COLUMNS :]
    return None if owner is None or tenure is None else Home(owner, tenure)


def _text(token: str) -> str:
    """PostgreSQL takes no NUL in a text; no token of ours has one."""
    return token.replace("\0", "\ufffd")
