"""The store for one computer: an SQLite file that several processes may share."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Sequence
from typing import LiteralString

from handraise.calls.ledger_tables import Record
from handraise.calls.rounds import judge_use
from handraise.calls.store import (
    ConsumeResult,
    Flow,
    JournalEntry,
    RoundOutcome,
    RoundRecord,
    RoundUse,
)
from handraise.disk import make_directory
from handraise.errors import SetupError
from handraise.stores import sealing, sqlite_ledger
from handraise.stores.rules import GRACE, SingleNode, continue_flow, may_complete
from handraise.stores.sealing import Sealer, key_file_beside
from handraise.stores.sql_tables import TABLES, SqlStore, SqlTickets
from handraise.stores.sqlite_file import SqliteFile
from handraise.stores.sqlite_side_files import Presence


class SqliteStore(SqlStore, SingleNode):
    """Keeps everything in one SQLite file (WAL), with sealed contents, readable by its owner only."""

    durable = True
    oldest_first: LiteralString = "rowid"
    database: SqliteFile

    def __init__(self, path: str | os.PathLike[str], *, keys: Sequence[bytes | str] | None = None) -> None:
        file = SqliteFile(path, schemas=(TABLES, sqlite_ledger.SCHEMA), keys=keys)
        super().__init__(file)
        self.ledger: sqlite_ledger.SqliteLedger = sqlite_ledger.SqliteLedger(file)
        """The ledger's tables."""
        self.tickets: SqliteTickets = SqliteTickets(file)
        """The gateway's parked calls."""

    async def open(self) -> None:
        """Open the file now, so that a wrong file or wrong keys fail early."""
        query = (
            "SELECT arguments FROM rounds WHERE digest IS NULL AND until IS NULL AND deadline > %s"
            " ORDER BY rowid DESC LIMIT 1"
        )
        newest, sealer = await self.database.one(query, (self.now(),)), await self.database.get_sealer()
        if newest is not None and not sealer.knows(newest[0]):
            raise SetupError(
                f"questions wait in {self.database.path} that were sealed with a key which is not among its keys; "
                "give that key behind the new one"
            )

    def signing_secrets(self, *, make: bool = True) -> list[bytes]:
        """The key of its ledger, in a private file beside the store. With `make=False`, no new one is made."""
        path = self.database.path.with_name(f"{self.database.path.name}.signing")
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

    async def open_round(self, record: RoundRecord, *, events: Sequence[Record] = ()) -> None:
        def open_round(db: sqlite3.Connection, sealer: Sealer) -> None:
            db.execute(
                f"INSERT INTO rounds ({sealing.COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - SQL of ours, no input
                sealing.dump_round(sealer, record),
            )
            db.execute("DELETE FROM journal WHERE call_id = ?", (record.call_id,))
            _append(db, sealer, record.call_id, record.journal)
            self.ledger.add(db, sealer, events)

        await self.database.write(open_round)

    async def find_round(self, token: str) -> RoundRecord | None:
        return await self.database.read(lambda db, sealer: _find_round(db, sealer, token))

    async def consume(self, token: str, use: RoundUse, *, events: Sequence[Record] = ()) -> ConsumeResult:
        def consume(db: sqlite3.Connection, sealer: Sealer) -> ConsumeResult:
            query = f"SELECT {sealing.STATE} FROM rounds WHERE token = ?"  # noqa: S608 - SQL of ours, no input
            row = db.execute(query, (token,)).fetchone()
            result = judge_use(sealing.load_state(sealer, token, row), use)
            if result.verdict == "first":
                change = "UPDATE rounds SET digest = ?, answers = ?, since = ? WHERE token = ?"
                db.execute(change, (*sealing.dump_use(sealer, token, use), use.now, token))
                self.ledger.add(db, sealer, events)
            return result

        return await self.database.write(consume)

    async def hold_round(self, token: str, *, since: float, now: float) -> bool:
        change = "UPDATE rounds SET since = %s WHERE token = %s AND since = %s AND outcome IS NULL"
        return await self.database.change(change, (now, token, since)) == 1

    async def close_round(self, token: str, *, events: Sequence[Record] = ()) -> bool:
        def close(db: sqlite3.Connection, sealer: Sealer) -> bool:
            change = "UPDATE rounds SET until = deadline + ? WHERE token = ? AND digest IS NULL"
            closed = db.execute(change, (GRACE, token)).rowcount == 1
            if closed:
                self.ledger.add(db, sealer, events)
            return closed

        return await self.database.write(close)

    async def append(self, call_id: str, entries: Sequence[JournalEntry]) -> None:
        await self.database.write(lambda db, sealer: _append(db, sealer, call_id, entries))

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
            db.execute(
                "UPDATE rounds SET outcome = ?, outcome_value = ?, until = ? WHERE token = ?",
                (outcome.kind, sealing.dump_outcome(sealer, token, outcome), until, token),
            )
            if ends:
                _end(db, ends, until)
            self.ledger.add(db, sealer, events)

        await self.database.write(settle)

    async def end(self, call_id: str, *, until: float) -> None:
        await self.database.write(lambda db, _: _end(db, call_id, until))

    async def open_flow(self, flow: Flow) -> None:
        def open_flow(db: sqlite3.Connection, sealer: Sealer) -> None:
            known = _find_flow(db, sealer, flow.elicitation_id)
            _put_flow(db, sealer, continue_flow(known, flow))

        await self.database.write(open_flow)

    async def complete_flow(
        self, elicitation_id: str, *, person: str, now: float, events: Sequence[Record] = ()
    ) -> bool:
        def complete(db: sqlite3.Connection, sealer: Sealer) -> bool:
            flow = _find_flow(db, sealer, elicitation_id)
            if flow is None or not may_complete(flow, person, now):
                return False
            _put_flow(db, sealer, flow._replace(completed=True))
            self.ledger.add(db, sealer, events)
            return True

        return await self.database.write(complete)

    async def _prune_rounds(self, now: float) -> int:
        def prune(db: sqlite3.Connection, _: Sealer) -> int:
            gone = db.execute("DELETE FROM rounds WHERE ? >= coalesce(until, deadline + ?)", (now, GRACE))
            db.execute("DELETE FROM journal WHERE call_id NOT IN (SELECT call_id FROM rounds)")
            return gone.rowcount

        return await self.database.write(prune)

    async def aclose(self) -> None:
        self.ledger.leave()
        self.tickets.leave()
        await self.database.aclose()


def _find_round(db: sqlite3.Connection, sealer: Sealer, token: str) -> RoundRecord | None:
    query = f"SELECT {sealing.COLUMNS}, answers FROM rounds WHERE token = ?"  # noqa: S608 - SQL of ours, no input
    row = db.execute(query, (token,)).fetchone()
    if row is None:
        return None
    record = sealing.load_round(sealer, row)
    steps = db.execute("SELECT entry FROM journal WHERE call_id = ? ORDER BY position", (record.call_id,))
    journal = sealing.load_entries(sealer, record.call_id, (entry for (entry,) in steps))
    query = "SELECT 1 FROM rounds WHERE call_id = ? AND number > ?"
    is_older = db.execute(query, (record.call_id, record.number)).fetchone()
    given = () if is_older else sealing.load_answers(sealer, token, row[-1], record.pins)
    return record._replace(journal=(*journal, *given))


def _append(db: sqlite3.Connection, sealer: Sealer, call_id: str, entries: Sequence[JournalEntry]) -> None:
    query = "SELECT coalesce(max(position) + 1, 0) FROM journal WHERE call_id = ?"
    (position,) = db.execute(query, (call_id,)).fetchone()
    steps = sealing.dump_entries(sealer, call_id, position, entries)
    db.executemany("INSERT INTO journal VALUES (?, ?, ?)", steps)


def _end(db: sqlite3.Connection, call_id: str, until: float) -> None:
    db.execute("DELETE FROM journal WHERE call_id = ?", (call_id,))
    change = "UPDATE rounds SET answers = NULL, questions = NULL, until = ? WHERE call_id = ?"
    db.execute(change, (until, call_id))


def _find_flow(db: sqlite3.Connection, sealer: Sealer, elicitation_id: str) -> Flow | None:
    row = db.execute("SELECT * FROM flows WHERE elicitation_id = ?", (elicitation_id,)).fetchone()
    return None if row is None else sealing.load_flow(sealer, row)


def _put_flow(db: sqlite3.Connection, sealer: Sealer, flow: Flow) -> None:
    db.execute(
        "INSERT OR REPLACE INTO flows VALUES (?, ?, ?, ?, ?)", (*flow, sealing.prove_flow(sealer, flow))
    )


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
