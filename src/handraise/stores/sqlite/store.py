"""The store in an SQLite file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Sequence

from handraise.calls.ledger_tables import Record
from handraise.calls.records import (
    ConsumeResult,
    Flow,
    JournalEntry,
    RoundOutcome,
    RoundRecord,
    RoundUse,
    UnfinishedRound,
)
from handraise.disk import make_directory
from handraise.errors import SetupError
from handraise.stores.seal import Sealer, key_file_beside
from handraise.stores.single_node import SingleNode
from handraise.stores.sql_tables import SqlSecrets, SqlTickets
from handraise.stores.sqlite import ledger, rounds
from handraise.stores.sqlite.file import SqliteFile
from handraise.stores.sqlite.side_files import Presence


class SqliteStore(SingleNode):
    """Keeps everything in one SQLite file (WAL), with sealed contents, readable by its owner only."""

    durable = True

    def __init__(self, path: str | os.PathLike[str], *, keys: Sequence[bytes | str] | None = None) -> None:
        schemas = (rounds.SCHEMA, _SECRETS_SCHEMA, ledger.SCHEMA, _TICKETS_SCHEMA)
        self._file = SqliteFile(path, schemas=schemas, keys=keys)
        self.secrets: SqlSecrets = SqlSecrets(self._file)
        """The vault's table."""
        self.ledger: ledger.SqliteLedger = ledger.SqliteLedger(self._file)
        """The ledger's tables."""
        self.tickets: SqliteTickets = SqliteTickets(self._file)
        """The gateway's parked calls."""

    async def open(self) -> None:
        """Open the file now, so that a wrong file or wrong keys fail early."""
        if not await self._file.read(lambda db, sealer: rounds.are_known(db, sealer, self.now())):
            raise SetupError(
                f"questions wait in {self._file.path} that were sealed with a key which is not among its keys; "
                "give that key behind the new one"
            )

    def signing_secrets(self, *, make: bool = True) -> list[bytes]:
        """The key of its ledger, in a private file beside the store. With `make=False`, no new one is made."""
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
        return [key_file_beside(path)]

    async def secret_for(self, purpose: str) -> bytes:
        """A secret for one purpose, the same for all users of the file."""
        return (await self._file.get_sealer()).derived(purpose)[0]

    async def open_round(self, record: RoundRecord, *, events: Sequence[Record] = ()) -> None:
        def open_round(db: sqlite3.Connection, sealer: Sealer) -> None:
            rounds.insert(db, sealer, record)
            self.ledger.add(db, sealer, events)

        await self._file.write(open_round)

    async def find_round(self, token: str) -> RoundRecord | None:
        return await self._file.read(lambda db, sealer: rounds.find(db, sealer, token))

    async def consume(self, token: str, use: RoundUse, *, events: Sequence[Record] = ()) -> ConsumeResult:
        def consume(db: sqlite3.Connection, sealer: Sealer) -> ConsumeResult:
            consumption = rounds.consume(db, sealer, token, use)
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

    async def append(self, call_id: str, entries: Sequence[JournalEntry]) -> None:
        await self._file.write(lambda db, sealer: rounds.append(db, sealer, call_id, entries))

    async def settle(
        self,
        token: str,
        outcome: RoundOutcome,
        *,
        until: float,
        ends: str = "",
        events: Sequence[Record] = (),
    ) -> None:
        def settle(db: sqlite3.Connection, sealer: Sealer) -> None:
            rounds.settle(db, sealer, token, outcome, until)
            if ends:
                rounds.end(db, ends, until)
            self.ledger.add(db, sealer, events)

        await self._file.write(settle)

    async def end(self, call_id: str, *, until: float) -> None:
        await self._file.write(lambda db, _: rounds.end(db, call_id, until))

    async def pending(self, person: str | None = None) -> list[RoundRecord]:
        return await self._file.read(lambda db, sealer: rounds.pending(db, sealer, person))

    async def unfinished(self) -> list[UnfinishedRound]:
        return await self._file.read(lambda db, _: rounds.unfinished(db))

    async def open_flow(self, flow: Flow) -> None:
        await self._file.write(lambda db, sealer: rounds.open_flow(db, sealer, flow))

    async def complete_flow(
        self, elicitation_id: str, *, person: str, now: float, events: Sequence[Record] = ()
    ) -> bool:
        def complete(db: sqlite3.Connection, sealer: Sealer) -> bool:
            completed = rounds.complete_flow(db, sealer, elicitation_id, person, now)
            if completed:
                self.ledger.add(db, sealer, events)
            return completed

        return await self._file.write(complete)

    async def find_flow(self, elicitation_id: str) -> Flow | None:
        return await self._file.read(lambda db, sealer: rounds.find_flow(db, sealer, elicitation_id))

    async def prune(self, now: float) -> int:
        gone = await self._file.write(lambda db, _: rounds.prune(db, now) + rounds.prune_flows(db, now))
        gone += await self.secrets.prune(now) + await self.tickets.prune(now)
        if gone:
            await self._file.flush()
        return gone

    async def aclose(self) -> None:
        self.ledger.leave()
        self.tickets.leave()
        await self._file.aclose()


_SECRETS_SCHEMA = """
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
"""
_TICKETS_SCHEMA = """
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


class SqliteTickets(SqlTickets):
    """Parked calls in an SQLite file. Each holder is a process with a lock file."""

    def __init__(self, file: SqliteFile) -> None:
        super().__init__(file)
        self._presence = Presence(file.path, "holder")

    async def enter(self) -> str:
        with self._presence.gone():  # their files are not needed now
            return self._presence.enter()

    async def gone(self, holders: Collection[str]) -> set[str]:
        return {holder for holder in holders if not self._presence.is_there(holder)}

    def leave(self) -> None:
        """Unregister this process as a holder of calls."""
        self._presence.leave()
