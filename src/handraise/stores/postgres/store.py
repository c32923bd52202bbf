"""The tables of one database as the store of one node."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from handraise.conversation.digest import Written
from handraise.conversation.recorded import Record
from handraise.conversation.records import (
    Binding,
    Brought,
    Consumption,
    Entry,
    Flow,
    Json,
    Outcome,
    RoundRecord,
    Unfinished,
)
from handraise.conversation.store import Answered
from handraise.stores.postgres.along import Along
from handraise.stores.postgres.database import Database
from handraise.stores.postgres.flows import Flows
from handraise.stores.postgres.ledger import PostgresLedger
from handraise.stores.postgres.nodes import Node
from handraise.stores.postgres.rounds import Rounds
from handraise.stores.postgres.secrets import PostgresSecrets
from handraise.stores.postgres.tickets import PostgresTickets
from handraise.stores.postgres.watch import Watch
from handraise.stores.seal import Sealer


class PostgresStore:
    """Keeps everything in one PostgreSQL database, its contents sealed; any number of nodes may share it.

    - `url`: `postgresql://…`, as libpq takes it.
    - `keys`: what contents are sealed with: the same for all nodes. The first one seals, all of them open.
    - `patience`: how long callers wait while the database is away.
    - `lease`: for how long a node that was not heard of is still taken to be there.
    - `poll`: how often a node looks for itself at what it was given no hint of.
    - `connections`: how many statements may be under way at once. Two more connections keep in touch with other nodes.
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
        self.database: Database = Database(url, Sealer(keys), patience=patience, connections=connections)
        self.node: Node = Node(self.database, secrets.token_hex(8), lease)
        along = Along(self.database, self.node.name)
        self._rounds = Rounds(self.database, along, self.node.name)
        self._flows = Flows(self.database, along)
        self._watch = Watch(self.database, self.node, self._rounds, poll)
        self.secrets: PostgresSecrets = PostgresSecrets(self.database)
        """The vault's table."""
        self.tickets: PostgresTickets = PostgresTickets(self.database, self.node.name, self._watch.start)
        """The gateway's parked calls."""
        self.ledger: PostgresLedger = PostgresLedger(self.database, along, self._watch.start)
        """The ledger's tables."""

    async def open(self) -> None:
        await self.database.open()

    def signing_secrets(self, *, make: bool = True) -> list[bytes]:
        """The keys of its ledger, the same on every node: it signs with the first. The others verify."""
        return self.database.sealer.derived("handraise/ledger")

    async def secret_for(self, purpose: str) -> bytes:
        """A secret that all nodes have, for a purpose of its own."""
        return self.database.sealer.derived(purpose)[0]

    def now(self) -> float:
        return self.database.now()

    async def open_round(self, record: RoundRecord, *, events: Sequence[Record] = ()) -> None:
        await self._watch.start()
        await self._rounds.open(record, events)

    async def find_round(self, token: str) -> RoundRecord | None:
        return await self._rounds.find(token)

    async def consume(
        self,
        token: str,
        *,
        binding: Binding,
        answers: dict[str, Json],
        said: Written,
        now: float,
        events: Sequence[Record] = (),
    ) -> Consumption:
        taken, home = await self._rounds.consume(token, binding, answers, said, now, events)
        if home is not None:
            await self._watch.start()
            self._watch.expect(token, home)
        return taken

    async def hold_round(self, token: str, *, since: float, now: float) -> bool:
        await self._watch.start()
        return await self._rounds.hold(token, since, now)

    def attend(self, answered: Answered) -> None:
        self._watch.attend(answered)

    async def take_up(self, token: str, *, now: float) -> Brought | None:
        return await self._rounds.take_up(token, now)

    async def changed(self, token: str) -> None:
        await self._watch.changed(token)

    async def close_round(self, token: str, *, events: Sequence[Record] = ()) -> bool:
        return await self._rounds.close(token, events)

    async def append(self, conversation: str, entries: Sequence[Entry]) -> None:
        await self._rounds.append(conversation, entries)

    async def settle(
        self, token: str, outcome: Outcome, *, until: float, ends: str = "", events: Sequence[Record] = ()
    ) -> None:
        await self._rounds.settle(token, outcome, until, ends, events)
        self._watch.went_on(token)

    async def end(self, conversation: str, *, until: float) -> None:
        await self._rounds.end(conversation, until)

    async def pending(self, person: str | None = None) -> list[RoundRecord]:
        return await self._rounds.pending(person)

    async def unfinished(self) -> list[Unfinished]:
        return await self._rounds.unfinished()

    async def open_flow(self, flow: Flow) -> None:
        await self._flows.open(flow)

    async def complete_flow(
        self, elicitation_id: str, *, person: str, now: float, events: Sequence[Record] = ()
    ) -> bool:
        return await self._flows.complete(elicitation_id, person, now, events)

    async def find_flow(self, elicitation_id: str) -> Flow | None:
        return await self._flows.find(elicitation_id)

    async def prune(self, now: float) -> int:
        tables = (self._rounds, self._flows, self.secrets, self.tickets)
        return sum([await table.prune(now) for table in tables])

    async def aclose(self) -> None:
        await self._watch.stop()
        await self.database.aclose()
