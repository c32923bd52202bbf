"""The store of one node in a PostgreSQL database."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import LiteralString

from handraise.calls.ledger_tables import Record
from handraise.calls.records import (
    ConsumeResult,
    RoundOutcome,
    RoundRecord,
    RoundUse,
)
from handraise.calls.store import OnAnswered
from handraise.stores.postgres.database import Database
from handraise.stores.postgres.event_writer import EventWriter
from handraise.stores.postgres.ledger import PostgresLedger
from handraise.stores.postgres.nodes import PRESENT, NodePresence
from handraise.stores.postgres.rounds import PostgresRounds
from handraise.stores.postgres.watch import RoundWatcher
from handraise.stores.seal import Sealer
from handraise.stores.sql_tables import SqlSecrets, SqlTickets

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
        self.secrets: SqlSecrets = SqlSecrets(database)
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
