"""The tables of rounds and of the journal: what pausing and resuming keeps."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from handraise.conversation.records import Binding, Consumption, Entry, Json, Outcome, RoundRecord
from handraise.errors import StoreError
from handraise.stores.seal import Sealer

_GRACE = 3600.0
"""How long a round that nobody answered is remembered after its deadline, so that a late retry learns why."""

SCHEMA = """
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
"""


def insert(db: sqlite3.Connection, sealer: Sealer, record: RoundRecord) -> None:
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
    append(db, sealer, record.conversation, record.journal)


def find(db: sqlite3.Connection, sealer: Sealer, token: str) -> RoundRecord | None:
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


def consume(
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


def append(db: sqlite3.Connection, sealer: Sealer, conversation: str, entries: Sequence[Entry]) -> None:
    (position,) = db.execute(
        "SELECT coalesce(max(position) + 1, 0) FROM journal WHERE conversation = ?", (conversation,)
    ).fetchone()
    for at, entry in enumerate(entries, position):
        sealed = _dump(
            sealer, [entry.kind, entry.key, entry.pin, entry.value], f"journal/{conversation}/{at}"
        )
        db.execute("INSERT INTO journal VALUES (?, ?, ?)", (conversation, at, sealed))


def hold(db: sqlite3.Connection, token: str, since: float, now: float) -> bool:
    held = db.execute(
        "UPDATE rounds SET since = ? WHERE token = ? AND since = ? AND outcome IS NULL", (now, token, since)
    )
    return held.rowcount == 1


def close(db: sqlite3.Connection, token: str) -> bool:
    closed = db.execute(
        "UPDATE rounds SET until = deadline + ? WHERE token = ? AND digest IS NULL", (_GRACE, token)
    )
    return closed.rowcount == 1


def settle(db: sqlite3.Connection, sealer: Sealer, token: str, outcome: Outcome, until: float) -> None:
    sealed = _dump(sealer, outcome.value, f"rounds/{token}/outcome")
    db.execute(
        "UPDATE rounds SET outcome = ?, outcome_value = ?, until = ? WHERE token = ?",
        (outcome.kind, sealed, until, token),
    )


def end(db: sqlite3.Connection, conversation: str, until: float) -> None:
    db.execute("DELETE FROM journal WHERE conversation = ?", (conversation,))
    db.execute(
        "UPDATE rounds SET answers = NULL, questions = NULL, until = ? WHERE conversation = ?",
        (until, conversation),
    )


def pending(db: sqlite3.Connection, sealer: Sealer, person: str | None) -> list[RoundRecord]:
    rows = db.execute(
        "SELECT * FROM rounds WHERE digest IS NULL AND until IS NULL AND (?1 IS NULL OR person = ?1)"
        " ORDER BY rowid",
        (person,),
    )
    return [_record(sealer, row) for row in rows]


def prune(db: sqlite3.Connection, now: float) -> int:
    gone = db.execute("DELETE FROM rounds WHERE ?1 >= coalesce(until, deadline + ?2)", (now, _GRACE))
    db.execute("DELETE FROM journal WHERE conversation NOT IN (SELECT conversation FROM rounds)")
    return gone.rowcount


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


def _answers(sealer: Sealer, row: Any, pins: dict[str, str]) -> tuple[Entry, ...]:
    token, answers = row[0], row[13]
    given = {} if answers is None else _load(sealer, answers, f"rounds/{token}/answers")
    return tuple(Entry("answer", key, pins.get(key, ""), value) for key, value in given.items())


def _binding(sealer: Sealer, token: str, person: str, method: str, target: str, arguments: bytes) -> Binding:
    binding = Binding(person, method, target, "")
    return binding._replace(arguments=_load(sealer, arguments, _owner(token, binding)))


def _owner(token: str, binding: Binding) -> str:
    """The place of a round's arguments. Whoever gives the round to another person or call moves them away."""
    return json.dumps(["rounds", token, *binding[:3]])


def _dump(sealer: Sealer, value: Json, place: str) -> bytes:
    try:
        plain = json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise StoreError(f"{place} is no JSON value: {error}") from error
    return sealer.seal(plain.encode(), place)


def _load(sealer: Sealer, sealed: bytes, place: str) -> Json:
    return json.loads(sealer.open(sealed, place))
