"""The store for several nodes: one PostgreSQL database that all of them share."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, LiteralString, NamedTuple

from handraise.calls.ledger_tables import Record
from handraise.calls.rounds import judge_use
from handraise.calls.store import (
    ConsumeResult,
    DeliveredAnswers,
    Flow,
    JournalEntry,
    OnAnswered,
    RoundOutcome,
    RoundRecord,
    RoundUse,
)
from handraise.errors import StoreError
from handraise.stores import sealing
from handraise.stores.postgres_database import OVER, Connection, Database
from handraise.stores.postgres_events import EventWriter
from handraise.stores.postgres_ledger import PostgresLedger
from handraise.stores.postgres_nodes import LIVES, PRESENT, NodePresence, RoundWatcher
from handraise.stores.rules import GRACE, continue_flow, may_complete
from handraise.stores.sealing import Sealer
from handraise.stores.sql_tables import SqlStore, SqlTickets

__all__ = ["PostgresStore"]

_INSERT: LiteralString = f"""
    INSERT INTO rounds ({sealing.COLUMNS}, owner)
    VALUES (%(token)s, %(call_id)s, %(number)s, %(person)s, %(method)s, %(target)s, %(arguments)s, %(deadline)s,
        %(handler)s, %(seed)s, %(questions)s, %(node)s)
    ON CONFLICT (token) DO NOTHING"""  # noqa: S608 - SQL of ours, no input
_JOURNAL: LiteralString = """,
    cut AS (
        DELETE FROM journal WHERE call_id = %(call_id)s AND position >= %(length)s
            AND EXISTS (SELECT FROM done)
    ),
    steps AS (
        INSERT INTO journal
        SELECT %(call_id)s, place - 1, entry FROM unnest(%(entries)s::bytea[]) WITH ORDINALITY AS e (entry, place)
        WHERE EXISTS (SELECT FROM done)
        ON CONFLICT (call_id, position) DO UPDATE SET entry = excluded.entry
    )"""
_FIND: LiteralString = f"""
    SELECT {sealing.COLUMNS}, answers,
        EXISTS (SELECT FROM rounds later WHERE later.call_id = r.call_id AND later.number > r.number),
        (SELECT array_agg(entry ORDER BY position) FROM journal WHERE journal.call_id = r.call_id)
    FROM rounds r WHERE token = %s"""  # noqa: S608 - SQL of ours, no input
_JUDGED: LiteralString = f"""
    SELECT {sealing.STATE}, owner, (SELECT lease_id FROM nodes WHERE name = owner AND name <> %s AND {PRESENT})
    FROM rounds WHERE token = %s"""  # noqa: S608 - SQL of ours, no input
_DIGEST = sealing.STATE.split(", ").index("digest")
_USE: LiteralString = """
    UPDATE rounds SET digest = %(digest)s, answers = %(answers)s, since = %(now)s
    WHERE token = %(token)s AND digest IS NULL AND until IS NULL"""
_HOLD: LiteralString = f"""
    UPDATE rounds SET since = %(now)s, owner = %(node)s
    WHERE token = %(token)s AND since = %(since)s AND outcome IS NULL
        AND (owner IS NULL OR owner = %(node)s OR NOT {LIVES})"""  # noqa: S608 - SQL of ours, no input
_TAKE_DELIVERED: LiteralString = """
    UPDATE rounds SET since = %(now)s
    WHERE token = %(token)s AND owner = %(node)s AND digest IS NOT NULL AND outcome IS NULL
        AND set_config('synchronous_commit', 'off', true) IS NOT NULL
    RETURNING answers"""
# This need not wait for the disk: if it is lost, the round still belongs to this node and continues here.
_SETTLE: LiteralString = """
    UPDATE rounds SET outcome = %(kind)s, outcome_value = %(value)s, until = %(until)s WHERE token = %(token)s"""
_SETTLE_AND_END: LiteralString = """
    UPDATE rounds SET answers = NULL, questions = NULL, until = %(until)s,
        outcome = CASE WHEN token = %(token)s THEN %(kind)s ELSE outcome END,
        outcome_value = CASE WHEN token = %(token)s THEN %(value)s ELSE outcome_value END
    WHERE call_id = %(call_id)s"""
_END: LiteralString = """,
    forgotten AS (DELETE FROM journal WHERE call_id = %(call_id)s)"""
_PRUNE: LiteralString = f"""
    WITH gone AS (
        DELETE FROM rounds WHERE {OVER} <= %(now)s RETURNING call_id
    ),
    forgotten AS (
        DELETE FROM journal USING gone WHERE journal.call_id = gone.call_id AND NOT EXISTS (
            SELECT FROM rounds WHERE rounds.call_id = gone.call_id AND {OVER} > %(now)s
        )
    )
    SELECT count(*) FROM gone"""  # noqa: S608 - SQL of ours, no input


_INSERT_FLOW: LiteralString = (
    "INSERT INTO flows VALUES (%s, %s, %s, %s, %s) ON CONFLICT (elicitation_id) DO NOTHING"
)
_LOCKED_FLOW: LiteralString = "SELECT * FROM flows WHERE elicitation_id = %s FOR UPDATE"
_PROLONG_FLOW: LiteralString = "UPDATE flows SET deadline = %s, proof = %s WHERE elicitation_id = %s"
_GONE: LiteralString = f"""
    SELECT holder FROM unnest(%s::text[]) AS holder
    WHERE NOT EXISTS (SELECT FROM nodes WHERE nodes.name = holder AND {PRESENT})"""  # noqa: S608 - SQL of ours, no input


class PostgresTickets(SqlTickets):
    """Parked calls in a database. Each holder is a node."""

    def __init__(self, database: Database, node: str, start: Callable[[], Awaitable[None]]) -> None:
        """`start` registers this node."""
        super().__init__(database)
        self._node = node
        self._start = start

    async def enter(self) -> str:
        await self._start()
        return self._node

    async def gone(self, holders: Collection[str]) -> set[str]:
        return {row[0] for row in await self.database.all(_GONE, (list(holders),))}


class RoundOwner(NamedTuple):
    """The other live node where a round is parked."""

    node: str
    lease_id: str
    delivered: bytes = b""
    """The answers, sealed for that node; empty when it must fetch them itself."""


class PostgresStore(SqlStore):
    """Keeps everything in one PostgreSQL database, with sealed contents. Any number of nodes may share it.

    - `url`: `postgresql://…`, for libpq.
    - `keys`: the keys that seal contents: the same for all nodes. The first one seals, all of them open.
    - `patience`: how long callers wait while the database is away.
    - `lease`: how long a silent node still counts as alive.
    - `poll`: how often a node checks for changes without a hint.
    - `connections`: how many statements may run at once. Two more connections are for contact with other nodes.
    """

    durable = True
    oldest_first: LiteralString = "opened"
    database: Database

    def __init__(
        self,
        url: str,
        *,
        keys: Sequence[bytes | str],
        patience: float = 10.0,
        lease: float = 15.0,
        poll: float = 1.0,
        connections: int = 32,
    ) -> None:
        database = Database(url, Sealer(keys), patience=patience, connections=connections)
        self.node: NodePresence = NodePresence(database, secrets.token_hex(8), lease)
        super().__init__(database)
        self._writer = EventWriter(database, self.node.name)
        self._watch = RoundWatcher(database, self.node, self, poll)
        self.tickets: PostgresTickets = PostgresTickets(database, self.node.name, self._watch.start)
        """The gateway's parked calls."""
        self.ledger: PostgresLedger = PostgresLedger(database, self._writer, self._watch.start)
        """The ledger's tables."""

    async def open(self) -> None:
        await self.database.open()

    def signing_secrets(self, *, make: bool = True) -> list[bytes]:
        """The keys of its ledger, the same on every node. The first one signs, all verify."""
        return self.database.sealer.derived("handraise/ledger")

    async def other_nodes(self) -> int | None:
        return await self.node.others()

    def now(self) -> float:
        return self.database.now()

    def on_answered(self, answered: OnAnswered) -> None:
        self._watch.on_answered(answered)

    async def wait_for_change(self, token: str) -> None:
        await self._watch.wait_for_change(token)

    async def open_round(self, record: RoundRecord, *, events: Sequence[Record] = ()) -> None:
        await self._watch.start()
        sealer, call_id = self.database.sealer, record.call_id
        names = sealing.COLUMNS.split(", ")
        entries = [entry for _, _, entry in sealing.dump_entries(sealer, call_id, 0, record.journal)]
        params: dict[str, Any] = dict(zip(names, sealing.dump_round(sealer, record), strict=True))
        params |= {"node": self.node.name, "length": len(entries), "entries": entries}
        if await self._writer.write(_INSERT, params, events, more=_JOURNAL):
            return
        query = "SELECT 1 FROM rounds WHERE token = %s AND questions = %s"
        if await self.database.one(query, (record.token, params["questions"])) is None:
            raise StoreError("a round with this token exists already")
        # Sealed by this call: it was written, and the connection was lost before the reply.

    async def find_round(self, token: str) -> RoundRecord | None:
        row = await self.database.one(_FIND, (_text(token),))
        if row is None:
            return None
        sealer, record = self.database.sealer, sealing.load_round(self.database.sealer, row)
        answers, is_older, steps = row[11:]
        journal = sealing.load_entries(sealer, record.call_id, steps or ())
        given = () if is_older else sealing.load_answers(sealer, token, answers, record.pins)
        return record._replace(journal=(*journal, *given))

    async def consume(self, token: str, use: RoundUse, *, events: Sequence[Record] = ()) -> ConsumeResult:
        taken, home = await self.take_answers(token, use, events)
        if home is not None:
            await self._watch.start()
            self._watch.expect(token, home)
        return taken

    async def take_answers(
        self, token: str, use: RoundUse, events: Sequence[Record]
    ) -> tuple[ConsumeResult, RoundOwner | None]:
        """The reply to the retry, and the handler's node if it is another node."""
        sealer, sealed = self.database.sealer, b""
        while True:
            row = await self.database.one(_JUDGED, (self.node.name, _text(token)))
            if row is not None and sealed and row[_DIGEST] == sealed:
                # Ours: the connection was lost before the reply.
                taken = ConsumeResult("first", since=use.now)
            else:
                taken = judge_use(sealing.load_state(sealer, token, row), use)
            owner = None if taken.verdict == "refused" or taken.outcome is not None else _owner_of(row)
            taken = taken._replace(elsewhere=owner is not None)
            if taken.verdict != "first" or sealed:
                return taken, owner
            if owner is not None:  # sealed before it is stored: after that the owner waits for it
                delivered = DeliveredAnswers(use.answers, use.now)
                delivery = sealing.dump_delivered(sealer, token, owner.lease_id, delivered)
                owner = owner._replace(delivered=delivery)
            sealed, given = sealing.dump_use(sealer, token, use)
            params = {"digest": sealed, "answers": given, "now": use.now, "token": token}
            if await self._writer.write(_USE, params, events):
                return taken, owner

    async def hold_round(self, token: str, *, since: float, now: float) -> bool:
        await self._watch.start()
        params = {"token": _text(token), "since": since, "now": now, "node": self.node.name}
        return await self.database.change(_HOLD, params) == 1

    async def take_delivered(self, token: str, *, now: float) -> DeliveredAnswers | None:
        params = {"token": token, "now": now, "node": self.node.name}
        row = await self.database.one(_TAKE_DELIVERED, params)
        if row is None:
            return None
        given = sealing.load_answers(self.database.sealer, token, row[0], {})
        return DeliveredAnswers({entry.key: entry.value for entry in given}, now)

    def unpack(self, token: str, sealed: bytes, lease_id: str) -> DeliveredAnswers | None:
        """The answers to a round of this node; None unless they are for its current lease."""
        try:
            return sealing.load_delivered(self.database.sealer, token, lease_id, sealed)
        except StoreError:
            return None

    async def disown(self, token: str) -> None:
        """Release a round whose handler is not here, so that any waiting node may continue it."""
        query = "UPDATE rounds SET owner = NULL WHERE token = %s AND owner = %s AND outcome IS NULL"
        await self.database.change(query, (token, self.node.name))

    async def close_round(self, token: str, *, events: Sequence[Record] = ()) -> bool:
        query = "UPDATE rounds SET until = deadline + %(grace)s WHERE token = %(token)s AND digest IS NULL"
        return await self._writer.write(query, {"token": _text(token), "grace": GRACE}, events) == 1

    async def append(self, call_id: str, entries: Sequence[JournalEntry]) -> None:
        sealer = self.database.sealer
        tried: list[tuple[str, int, bytes]] = []

        async def append(db: Connection) -> None:
            nonlocal tried
            async with db.transaction():
                await db.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (call_id,))
                query = (
                    "SELECT coalesce(max(position) + 1, 0), count(*) FILTER (WHERE entry = ANY(%s))"
                    " FROM journal WHERE call_id = %s"
                )
                found = await db.execute(query, ([entry for *_, entry in tried], call_id))
                position, written = await found.fetchone() or (0, 0)
                if written:  # the first try wrote it before its connection was lost
                    return
                tried = sealing.dump_entries(sealer, call_id, position, entries)
                async with db.cursor() as cursor:
                    await cursor.executemany("INSERT INTO journal VALUES (%s, %s, %s)", tried)

        if entries:
            await self.database.run(append)

    async def settle(
        self,
        token: str,
        outcome: RoundOutcome,
        *,
        until: float,
        ends: str = "",
        events: Sequence[Record] = (),
    ) -> None:
        value = sealing.dump_outcome(self.database.sealer, token, outcome)
        params = {"kind": outcome.kind, "value": value, "until": until, "token": token, "call_id": ends}
        query, more = (_SETTLE_AND_END, _END) if ends else (_SETTLE, "")
        await self._writer.write(query, params, events, more=more, always=True)
        self._watch.went_on(token)

    async def end(self, call_id: str, *, until: float) -> None:
        query = (
            "UPDATE rounds SET answers = NULL, questions = NULL, until = %(until)s"
            " WHERE call_id = %(call_id)s"
        )
        await self._writer.write(query, {"call_id": call_id, "until": until}, (), more=_END)

    async def _prune_rounds(self, now: float) -> int:
        row = await self.database.one(_PRUNE, {"now": now})
        return 0 if row is None else int(row[0])

    async def taken(self) -> list[str]:
        """The answered rounds of this node without an outcome."""
        query = "SELECT token FROM rounds WHERE owner = %s AND digest IS NOT NULL AND outcome IS NULL"
        return [token for (token,) in await self.database.all(query, (self.node.name,))]

    async def still_elsewhere(self, tokens: Sequence[str]) -> set[str]:
        """The rounds among these that have no outcome and whose node lives."""
        query = f"SELECT token FROM rounds WHERE token = ANY(%s) AND outcome IS NULL AND {LIVES}"  # noqa: S608 - SQL of ours, no input
        return {token for (token,) in await self.database.all(query, (list(tokens),))}

    async def open_flow(self, flow: Flow) -> None:
        sealer = self.database.sealer

        async def write(db: Connection) -> None:
            async with db.transaction():
                await db.execute(_INSERT_FLOW, (*flow, sealing.prove_flow(sealer, flow)))
                row = await (await db.execute(_LOCKED_FLOW, (flow.elicitation_id,))).fetchone()
                assert row is not None
                later = continue_flow(sealing.load_flow(sealer, row), flow)
                proof = sealing.prove_flow(sealer, later)
                await db.execute(_PROLONG_FLOW, (later.deadline, proof, flow.elicitation_id))

        await self.database.run(write)

    async def complete_flow(
        self, elicitation_id: str, *, person: str, now: float, events: Sequence[Record] = ()
    ) -> bool:
        while True:
            flow = await self.find_flow(elicitation_id)
            if flow is None or not may_complete(flow, person, now):
                return False
            proof = sealing.prove_flow(self.database.sealer, flow._replace(completed=True))
            done = await self._writer.write(
                "UPDATE flows SET completed = true, proof = %(proof)s"
                " WHERE elicitation_id = %(id)s AND person = %(person)s AND deadline = %(deadline)s",
                {"id": elicitation_id, "person": person, "deadline": flow.deadline, "proof": proof},
                events,
            )
            if done:  # otherwise it was extended meanwhile
                return True

    async def aclose(self) -> None:
        await self._watch.stop()
        await self.database.aclose()


def _owner_of(row: Sequence[Any] | None) -> RoundOwner | None:
    owner, lease_id = (None, None) if row is None else row[sealing.STATE_COLUMNS :]
    return None if owner is None or lease_id is None else RoundOwner(owner, lease_id)


def _text(token: str) -> str:
    """A text without NUL, which PostgreSQL refuses. Our tokens have none."""
    return token.replace("\0", "\ufffd")
