"""The store for one machine: an SQLite file that several processes may share."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from handraise.conversation.records import Binding, Consumption, Entry, Flow, Json, Outcome, RoundRecord
from handraise.errors import StoreError
from handraise.stores.seal import Sealer, key_beside, make_private

T = TypeVar("T")

_VERSION = 1
_PATIENCE = 10.0
"""How long to wait for another process that writes."""
_GRACE = 3600.0
"""How long a round that nobody answered is remembered after its deadline, so that a late retry learns why."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS rounds (
    token TEXT PRIMARY KEY,
    conversation TEXT NOT NULL,
    number INTEGER NOT NULL,
    person TEXT NOT NULL,
    method TEXT NOT NULL,
    target TEXT NOT NULL,
    arguments BLOB NOT NULL,
    deadline REAL NOT NULL,
    handler TEXT,
    seed TEXT NOT NULL,
    questions BLOB,
    digest BLOB,
    since REAL,
    answers BLOB,
    outcome TEXT,
    outcome_value BLOB,
    until REAL
) STRICT;
CREATE INDEX IF NOT EXISTS rounds_by_conversation ON rounds (conversation);
CREATE INDEX IF NOT EXISTS rounds_pending ON rounds (person) WHERE digest IS NULL AND until IS NULL;
CREATE TABLE IF NOT EXISTS journal (
    conversation TEXT NOT NULL,
    position INTEGER NOT NULL,
    entry BLOB NOT NULL,
    PRIMARY KEY (conversation, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS flows (
    elicitation_id TEXT PRIMARY KEY,
    person TEXT NOT NULL,
    deadline REAL NOT NULL,
    completed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""


class SqliteStore:
    """Keeps everything in one SQLite file (WAL), its contents sealed, readable by its owner only."""

    durable = True

    def __init__(self, path: str | os.PathLike[str], *, keys: Sequence[bytes | str] | None = None) -> None:
        self._path = Path(path)
        self._keys = keys
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="handraise-store")
        self._opened: tuple[sqlite3.Connection, Sealer] | None = None

    async def open_round(self, record: RoundRecord) -> None:
        await self._write(lambda db, sealer: _insert_round(db, sealer, record))

    async def find_round(self, token: str) -> RoundRecord | None:
        return await self._read(lambda db, sealer: _find_round(db, sealer, token))

    async def consume(
        self, token: str, *, binding: Binding, answers: dict[str, Json], digest: str, now: float
    ) -> Consumption:
        return await self._write(
            lambda db, sealer: _consume(db, sealer, token, binding, answers, digest, now)
        )

    async def hold_round(self, token: str, *, since: float, now: float) -> bool:
        def hold(db: sqlite3.Connection, _: Sealer) -> bool:
            held = db.execute(
                "UPDATE rounds SET since = ? WHERE token = ? AND since = ? AND outcome IS NULL",
                (now, token, since),
            )
            return held.rowcount == 1

        return await self._write(hold)

    async def close_round(self, token: str) -> bool:
        def close(db: sqlite3.Connection, _: Sealer) -> bool:
            closed = db.execute(
                "UPDATE rounds SET until = deadline + ? WHERE token = ? AND digest IS NULL", (_GRACE, token)
            )
            return closed.rowcount == 1

        return await self._write(close)

    async def append(self, conversation: str, entries: Sequence[Entry]) -> None:
        await self._write(lambda db, sealer: _append(db, sealer, conversation, entries))

    async def settle(self, token: str, outcome: Outcome, *, until: float) -> None:
        def settle(db: sqlite3.Connection, sealer: Sealer) -> None:
            sealed = _dump(sealer, outcome.value, f"rounds/{token}/outcome")
            db.execute(
                "UPDATE rounds SET outcome = ?, outcome_value = ?, until = ? WHERE token = ?",
                (outcome.kind, sealed, until, token),
            )

        await self._write(settle)

    async def end(self, conversation: str, *, until: float) -> None:
        def end(db: sqlite3.Connection, _: Sealer) -> None:
            db.execute("DELETE FROM journal WHERE conversation = ?", (conversation,))
            db.execute(
                "UPDATE rounds SET answers = NULL, questions = NULL, until = ? WHERE conversation = ?",
                (until, conversation),
            )

        await self._write(end)

    async def pending(self, person: str | None = None) -> list[RoundRecord]:
        def pending(db: sqlite3.Connection, sealer: Sealer) -> list[RoundRecord]:
            rows = db.execute(
                "SELECT * FROM rounds WHERE digest IS NULL AND until IS NULL AND (?1 IS NULL OR person = ?1)"
                " ORDER BY rowid",
                (person,),
            )
            return [_record(sealer, row) for row in rows]

        return await self._read(pending)

    async def open_flow(self, flow: Flow) -> None:
        def open_flow(db: sqlite3.Connection, _: Sealer) -> None:
            db.execute(
                "INSERT INTO flows VALUES (?, ?, ?, ?) ON CONFLICT (elicitation_id)"
                " DO UPDATE SET deadline = max(deadline, excluded.deadline) WHERE person = excluded.person",
                (flow.elicitation_id, flow.person, flow.deadline, flow.completed),
            )
            (owner,) = db.execute(
                "SELECT person FROM flows WHERE elicitation_id = ?", (flow.elicitation_id,)
            ).fetchone()
            if owner != flow.person:
                raise StoreError("this elicitation id belongs to somebody else")

        await self._write(open_flow)

    async def complete_flow(self, elicitation_id: str, *, person: str, now: float) -> bool:
        def complete(db: sqlite3.Connection, _: Sealer) -> bool:
            done = db.execute(
                "UPDATE flows SET completed = 1 WHERE elicitation_id = ? AND person = ? AND deadline > ?",
                (elicitation_id, person, now),
            )
            return done.rowcount == 1

        return await self._write(complete)

    async def find_flow(self, elicitation_id: str) -> Flow | None:
        def find(db: sqlite3.Connection, _: Sealer) -> Flow | None:
            row = db.execute("SELECT * FROM flows WHERE elicitation_id = ?", (elicitation_id,)).fetchone()
            return None if row is None else Flow(row[0], row[1], row[2], bool(row[3]))

        return await self._read(find)

    async def prune(self, now: float) -> int:
        def prune(db: sqlite3.Connection, _: Sealer) -> int:
            gone = db.execute("DELETE FROM rounds WHERE ?1 >= coalesce(until, deadline + ?2)", (now, _GRACE))
            db.execute("DELETE FROM journal WHERE conversation NOT IN (SELECT conversation FROM rounds)")
            flows = db.execute("DELETE FROM flows WHERE ? >= deadline", (now,))
            return gone.rowcount + flows.rowcount

        gone = await self._write(prune)
        if gone:
            await self._read(lambda db, _: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone())
        return gone

    async def aclose(self) -> None:
        if self._opened is not None:
            db, _ = self._opened
            self._opened = None
            await self._in_worker(db.close)

    async def _read(self, work: Callable[[sqlite3.Connection, Sealer], T]) -> T:
        return await self._in_worker(lambda: work(*self._open()))

    async def _write(self, work: Callable[[sqlite3.Connection, Sealer], T]) -> T:
        return await self._in_worker(lambda: self._transaction(work))

    async def _in_worker(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._worker, work)
        except (sqlite3.Error, OSError, UnicodeError) as error:
            raise StoreError(f"{self._path}: {error}") from error

    def _transaction(self, work: Callable[[sqlite3.Connection, Sealer], T]) -> T:
        db, sealer = self._open()
        db.execute("BEGIN IMMEDIATE")
        try:
            result = work(db, sealer)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return result

    def _open(self) -> tuple[sqlite3.Connection, Sealer]:
        if self._opened is None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            make_private(self._path)
            sealer = Sealer(self._keys if self._keys is not None else [key_beside(self._path)])
            self._opened = _connect(self._path), sealer
        return self._opened


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_PATIENCE)
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version not in (0, _VERSION):
            raise StoreError(f"{path} was written by another version of Handraise (schema {version})")
        _switch_to_wal(db)
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA secure_delete = ON")
        db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
    except BaseException:
        db.close()
        raise
    return db


def _switch_to_wal(db: sqlite3.Connection) -> None:
    """SQLite does not wait by itself when another process switches a new file at the same moment."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                raise
            time.sleep(0.01)


def _dump(sealer: Sealer, value: Json, place: str) -> bytes:
    try:
        plain = json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise StoreError(f"{place} is no JSON value: {error}") from error
    return sealer.seal(plain.encode(), place)


def _load(sealer: Sealer, sealed: bytes, place: str) -> Json:
    return json.loads(sealer.open(sealed, place))


def _insert_round(db: sqlite3.Connection, sealer: Sealer, record: RoundRecord) -> None:
    binding = record.binding
    shown = _dump(sealer, [record.questions, record.pins], f"rounds/{record.token}/questions")
    db.execute(
        "INSERT INTO rounds (token, conversation, number, person, method, target, arguments, deadline,"
        " handler, seed, questions) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            record.token,
            record.conversation,
            record.number,
            binding.person,
            binding.method,
            binding.target,
            _dump(sealer, binding.arguments, _owner(record.token, binding)),
            record.deadline,
            record.handler,
            record.seed,
            shown,
        ),
    )
    db.execute("DELETE FROM journal WHERE conversation = ?", (record.conversation,))
    _append(db, sealer, record.conversation, record.journal)


def _append(db: sqlite3.Connection, sealer: Sealer, conversation: str, entries: Sequence[Entry]) -> None:
    (position,) = db.execute(
        "SELECT coalesce(max(position) + 1, 0) FROM journal WHERE conversation = ?", (conversation,)
    ).fetchone()
    for at, entry in enumerate(entries, position):
        sealed = _dump(
            sealer, [entry.kind, entry.key, entry.pin, entry.value], f"journal/{conversation}/{at}"
        )
        db.execute("INSERT INTO journal VALUES (?, ?, ?)", (conversation, at, sealed))


def _find_round(db: sqlite3.Connection, sealer: Sealer, token: str) -> RoundRecord | None:
    row = db.execute("SELECT * FROM rounds WHERE token = ?", (token,)).fetchone()
    if row is None:
        return None
    conversation, number = row[1:3]
    steps = db.execute(
        "SELECT position, entry FROM journal WHERE conversation = ? ORDER BY position", (conversation,)
    )
    journal = tuple(Entry(*_load(sealer, entry, f"journal/{conversation}/{at}")) for at, entry in steps)
    record = _record(sealer, row)
    later = db.execute("SELECT 1 FROM rounds WHERE conversation = ? AND number > ?", (conversation, number))
    given = () if later.fetchone() else _answers(sealer, row, record.pins)
    return record._replace(journal=(*journal, *given))


def _record(sealer: Sealer, row: Any) -> RoundRecord:
    token, conversation, number, person, method, target, sealed, deadline, handler, seed = row[:10]
    shown, binding = row[10], _binding(sealer, token, person, method, target, sealed)
    questions, pins = ({}, {}) if shown is None else _load(sealer, shown, f"rounds/{token}/questions")
    return RoundRecord(
        token=token,
        conversation=conversation,
        number=number,
        binding=binding,
        deadline=deadline,
        questions=questions,
        pins=pins,
        handler=handler,
        seed=seed,
    )


def _owner(token: str, binding: Binding) -> str:
    """The place of a round's arguments. Whoever gives the round to another person or call moves them away."""
    return json.dumps(["rounds", token, *binding[:3]])


def _binding(sealer: Sealer, token: str, person: str, method: str, target: str, arguments: bytes) -> Binding:
    binding = Binding(person, method, target, "")
    return binding._replace(arguments=_load(sealer, arguments, _owner(token, binding)))


def _answers(sealer: Sealer, row: Any, pins: dict[str, str]) -> tuple[Entry, ...]:
    token, answers = row[0], row[13]
    given = {} if answers is None else _load(sealer, answers, f"rounds/{token}/answers")
    return tuple(Entry("answer", key, pins.get(key, ""), value) for key, value in given.items())


def _consume(
    db: sqlite3.Connection,
    sealer: Sealer,
    token: str,
    binding: Binding,
    answers: dict[str, Json],
    digest: str,
    now: float,
) -> Consumption:
    row = db.execute(
        "SELECT person, method, target, arguments, deadline, until, digest, since, outcome, outcome_value"
        " FROM rounds WHERE token = ?",
        (token,),
    ).fetchone()
    if row is None:
        return Consumption("refused", "unknown token")
    if _binding(sealer, token, *row[:4]) != binding:
        return Consumption("refused", "bound to another person or call")
    deadline, until, used, since, kind, value = row[4:]
    outcome = None if kind is None else Outcome(kind, _load(sealer, value, f"rounds/{token}/outcome"))
    if used is None:
        if outcome is not None:
            return Consumption("again", outcome=outcome)
        if now >= deadline or until is not None:
            return Consumption("refused", "expired")
        sealed = _dump(sealer, answers, f"rounds/{token}/answers")
        db.execute(
            "UPDATE rounds SET digest = ?, since = ?, answers = ? WHERE token = ?",
            (_dump(sealer, digest, f"rounds/{token}/digest"), now, sealed, token),
        )
        return Consumption("first", since=now)
    if _load(sealer, used, f"rounds/{token}/digest") != digest:
        return Consumption("refused", "used already, with other answers")
    return Consumption("again", outcome=outcome, since=since)
