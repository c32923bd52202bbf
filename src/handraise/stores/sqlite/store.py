"""The tables of one SQLite file as a store."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence

from handraise.conversation.digest import Written
from handraise.conversation.recorded import Record
from handraise.conversation.records import (
    Binding,
    Consumption,
    Entry,
    Flow,
    Json,
    Outcome,
    RoundRecord,
    Unfinished,
)
from handraise.disk import make_directory
from handraise.errors import SetupError
from handraise.stores.alone import Alone
from handraise.stores.seal import Sealer, key_beside
from handraise.stores.sqlite import flows, ledger, rounds, secrets, tickets
from handraise.stores.sqlite.file import SqliteFile


class SqliteStore(Alone):
    """Keeps everything in one SQLite file (WAL), its contents sealed, readable by its owner only."""

    durable = True

    def __init__(self, path: str | os.PathLike[str], *, keys: Sequence[bytes | str] | None = None) -> None:
        parts = (rounds, flows, secrets, ledger, tickets)
        schemas = [part.SCHEMA for part in parts]
        self._file = SqliteFile(path, schemas=schemas, keys=keys)
        self.secrets: secrets.SqliteSecrets = secrets.SqliteSecrets(self._file)
        """The vault's table."""
        self.ledger: ledger.SqliteLedger = ledger.SqliteLedger(self._file)
        """The ledger's tables."""
        self.tickets: tickets.SqliteTickets = tickets.SqliteTickets(self._file)
        """The gateway's parked calls."""

    async def open(self) -> None:
        """Reach the file, so that one which is none, or keys that open nothing, are told before anything is done."""
        if not await self._file.read(lambda db, sealer: rounds.are_known(db, sealer, self.now())):
            raise SetupError(
                f"questions wait in {self._file.path} that were sealed with a key which is not among its keys; "
                "give that key behind the new one"
            )

    def signing_secrets(self, *, make: bool = True) -> list[bytes]:
        """The key of its ledger: a private file of its own beside the store. With `make` false, it makes no new one."""
        path = self._file.path.with_name(f"{self._file.path.name}.signing")
        key = path.with_name(f"{path.name}.key")
        if not key.exists():
            if not make:
                return []
            if self.ledger.was_begun():
                raise SetupError(
                    f"{key}, the key of the ledger, is missing: restore it. Without it, move the ledger away with all "
                    "files whose names begin like its own, and a new one is begun"
                )
        make_directory(path.parent)
        return [key_beside(path)]

    async def secret_for(self, purpose: str) -> bytes:
        """A secret that all who share the file have, for a purpose of its own."""
        return await self._file.read(lambda _, sealer: sealer.derived(purpose)[0])

    async def open_round(self, record: RoundRecord, *, events: Sequence[Record] = ()) -> None:
        def open_round(db: sqlite3.Connection, sealer: Sealer) -> None:
            rounds.insert(db, sealer, record)
            self.ledger.add(db, sealer, events)

        await self._file.write(open_round)

    async def find_round(self, token: str) -> RoundRecord | None:
        return await self._file.read(lambda db, sealer: rounds.find(db, sealer, token))

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
        def consume(db: sqlite3.Connection, sealer: Sealer) -> Consumption:
            consumption = rounds.consume(db, sealer, token, binding, answers, said, now)
            if consumption.verdict == "first":
                self.ledger.add(db, sealer, events)
            return consumption

        return await self._file.write(consume)

    async def hold_round(self, token: str, *, since: float, now: float) -> bool:
        return await self._file.write(lambda db, _: rounds.hold(db, token, since, now))

    async def close_round(self, token: str, *, events: Sequence[Record] = ()) -> bool:
        def close(db: sqlite3.Connection, sealer: Sealer) -> bool:
            closed = rounds.close(db, token)
            if closed:
                self.ledger.add(db, sealer, events)
            return closed

        return await self._file.write(close)

    async def append(self, conversation: str, entries: Sequence[Entry]) -> None:
        await self._file.write(lambda db, sealer: rounds.append(db, sealer, conversation, entries))

    async def settle(
        self, token: str, outcome: Outcome, *, until: float, ends: str = "", events: Sequence[Record] = ()
    ) -> None:
        def settle(db: sqlite3.Connection, sealer: Sealer) -> None:
            rounds.settle(db, sealer, token, outcome, until)
            if ends:
                rounds.end(db, ends, until)
            self.ledger.add(db, sealer, events)

        await self._file.write(settle)

    async def end(self, conversation: str, *, until: float) -> None:
        await self._file.write(lambda db, _: rounds.end(db, conversation, until))

    async def pending(self, person: str | None = None) -> list[RoundRecord]:
        return await self._file.read(lambda db, sealer: rounds.pending(db, sealer, person))

    async def unfinished(self) -> list[Unfinished]:
        return await self._file.read(lambda db, _: rounds.unfinished(db))

    async def open_flow(self, flow: Flow) -> None:
        await self._file.write(lambda db, sealer: flows.open_flow(db, sealer, flow))

    async def complete_flow(
        self, elicitation_id: str, *, person: str, now: float, events: Sequence[Record] = ()
    ) -> bool:
        def complete(db: sqlite3.Connection, sealer: Sealer) -> bool:
            completed = flows.complete(db, sealer, elicitation_id, person, now)
            if completed:
                self.ledger.add(db, sealer, events)
            return completed

        return await self._file.write(complete)

    async def find_flow(self, elicitation_id: str) -> Flow | None:
        return await self._file.read(lambda db, sealer: flows.find(db, sealer, elicitation_id))

    async def prune(self, now: float) -> int:
        gone = await self._file.write(
            lambda db, _: (
                rounds.prune(db, now) + flows.prune(db, now) + secrets.prune(db, now) + tickets.prune(db, now)
            )
        )
        if gone:
            await self._file.flush()
        return gone

    async def aclose(self) -> None:
        self.ledger.leave()
        self.tickets.leave()
        await self._file.aclose()
