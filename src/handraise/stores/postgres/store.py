"""The store of one node in a PostgreSQL database."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import LiteralString

from handraise.calls.ledger_tables import Record
from handraise.calls.records import (
    ConsumeResult,
    Json,
    RoundOutcome,
    RoundRecord,
    RoundUse,
)
from handraise.calls.store import OnAnswered, Ticket
from handraise.disk import Leftover
from handraise.stores import sealed_rows as rows
from handraise.stores.postgres.database import Connection, Database
from handraise.stores.postgres.event_writer import EventWriter
from handraise.stores.postgres.ledger import PostgresLedger
from handraise.stores.postgres.nodes import PRESENT, NodePresence
from handraise.stores.postgres.rounds import PostgresRounds
from handraise.stores.postgres.watch import RoundWatcher
from handraise.stores.seal import Sealer
from handraise.vault.records import SealedSecret

_GONE: LiteralString = f"""
    SELECT holder FROM unnest(%s::text[]) AS holder
    WHERE NOT EXISTS (SELECT FROM nodes WHERE nodes.name = holder AND {PRESENT})"""  # noqa: S608 - SQL of ours, no input

_SETTLE: LiteralString = (
    "UPDATE tickets SET outcome = %s, deadline = %s, call = NULL, round = NULL WHERE key = %s"
)
_BOUND: LiteralString = "SELECT * FROM tickets WHERE key = %s FOR UPDATE"


class PostgresTickets:
    """Parked calls in a database."""

    def __init__(self, database: Database, node: str, start: Callable[[], Awaitable[None]]) -> None:
        """`start` registers this node."""
        self._database = database
        self._node = node
        self._start = start

    async def enter(self) -> str:
        await self._start()
        return self._node

    async def gone(self, holders: Collection[str]) -> set[str]:
        return {row[0] for row in await self._database.all(_GONE, (list(holders),))}

    async def open(self, ticket: Ticket) -> None:
        await self._database.change(
            "INSERT INTO tickets VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (key) DO NOTHING",
            rows.dump_ticket(self._database.sealer, ticket),
        )

    async def find(self, key: str) -> Ticket | None:
        row = await self._database.one("SELECT * FROM tickets WHERE key = %s", (key,))
        return None if row is None else rows.load_ticket(self._database.sealer, row)

    async def waiting(self, person: str) -> list[Ticket]:
        query = "SELECT * FROM tickets WHERE person = %s AND outcome IS NULL"
        found = await self._database.all(query, (person,))
        return [rows.load_ticket(self._database.sealer, row) for row in found]

    async def ask(self, key: str, round: Json) -> None:
        async def ask(db: Connection) -> None:
            async with db.transaction():
                if (bound := await self._bound(db, key)) is not None:
                    sealed = rows.seal_ticket_column(self._database.sealer, bound, "round", round)
                    query = "UPDATE tickets SET round = %s, sent = false WHERE key = %s"
                    await db.execute(query, (sealed, key))

        await self._database.run(ask)

    async def send(self, key: str, *, holder: str) -> bool:
        query = "UPDATE tickets SET sent = true WHERE key = %s AND holder = %s"
        return await self._database.change(query, (key, holder)) == 1

    async def take(self, key: str, *, was: str, holder: str) -> bool:
        query = (
            "UPDATE tickets SET holder = %(holder)s WHERE key = %(key)s AND NOT sent AND outcome IS NULL"
            " AND holder IN (%(was)s, %(holder)s)"  # ours already: the connection was lost after the write
        )
        return await self._database.change(query, {"key": key, "was": was, "holder": holder}) == 1

    async def settle(self, key: str, outcome: Json, *, until: float) -> None:
        async def settle(db: Connection) -> None:
            async with db.transaction():
                if (bound := await self._bound(db, key)) is not None:
                    later = bound._replace(deadline=until)
                    sealed = rows.seal_ticket_column(self._database.sealer, later, "outcome", outcome)
                    await db.execute(_SETTLE, (sealed, until, key))

        await self._database.run(settle)

    async def prune(self, now: float) -> int:
        return await self._database.change("DELETE FROM tickets WHERE %s >= deadline", (now,))

    async def _bound(self, db: Connection, key: str) -> rows.TicketColumns | None:
        """The columns that sealed ones are bound to. The row is locked until the transaction ends."""
        row = await (await db.execute(_BOUND, (key,))).fetchone()
        return None if row is None else rows.bound_columns(self._database.sealer, row)


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


class PostgresStore(PostgresRounds):
    """Keeps everything in one PostgreSQL database, with sealed contents. Any number of nodes may share it.

    - `url`: `postgresql://…`, for libpq.
    - `keys`: the keys that seal contents: the same for all nodes. The first one seals, all of them open.
    - `patience`: how long callers wait while the database is away.
    - `lease`: how long a silent node still counts as alive.
    - `poll`: how often a node checks for changes without a hint.
    - `connections`: how many statements may run at once. Two more connections are for contact with other nodes.
    """

    durable = True

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
        writer = EventWriter(database, self.node.name)
        super().__init__(database, writer, self.node.name)
        self._watch = RoundWatcher(database, self.node, self, poll)
        self.secrets: PostgresSecrets = PostgresSecrets(database)
        """The vault's table."""
        self.tickets: PostgresTickets = PostgresTickets(database, self.node.name, self._watch.start)
        """The gateway's parked calls."""
        self.ledger: PostgresLedger = PostgresLedger(database, writer, self._watch.start)
        """The ledger's tables."""

    async def open(self) -> None:
        await self.database.open()

    def signing_secrets(self, *, make: bool = True) -> list[bytes]:
        """The keys of its ledger, the same on every node. The first one signs, all verify."""
        return self.database.sealer.derived("handraise/ledger")

    async def secret_for(self, purpose: str) -> bytes:
        """A secret for one purpose, the same on all nodes."""
        return self.database.sealer.derived(purpose)[0]

    async def other_nodes(self) -> int | None:
        return await self.node.others()

    def now(self) -> float:
        return self.database.now()

    async def open_round(self, record: RoundRecord, *, events: Sequence[Record] = ()) -> None:
        await self._watch.start()
        await super().open_round(record, events=events)

    async def consume(self, token: str, use: RoundUse, *, events: Sequence[Record] = ()) -> ConsumeResult:
        taken, home = await self.take_answers(token, use, events)
        if home is not None:
            await self._watch.start()
            self._watch.expect(token, home)
        return taken

    async def hold_round(self, token: str, *, since: float, now: float) -> bool:
        await self._watch.start()
        return await super().hold_round(token, since=since, now=now)

    def on_answered(self, answered: OnAnswered) -> None:
        self._watch.on_answered(answered)

    async def wait_for_change(self, token: str) -> None:
        await self._watch.wait_for_change(token)

    async def settle(
        self,
        token: str,
        outcome: RoundOutcome,
        *,
        until: float,
        ends: str = "",
        events: Sequence[Record] = (),
    ) -> None:
        await super().settle(token, outcome, until=until, ends=ends, events=events)
        self._watch.went_on(token)

    async def prune(self, now: float) -> int:
        gone = await self.prune_rounds(now) + await self.prune_flows(now)
        return gone + await self.secrets.prune(now) + await self.tickets.prune(now)

    async def aclose(self) -> None:
        await self._watch.stop()
        await self.database.aclose()
