"""The tables of rounds, the journal and flows."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from handraise.calls.records import (
    ConsumeResult,
    Flow,
    JournalEntry,
    RoundOutcome,
    RoundRecord,
    RoundUse,
    UnfinishedRound,
)
from handraise.errors import StoreError
from handraise.stores import sealed_rows as rows
from handraise.stores.seal import Sealer

SCHEMA = """
CREATE TABLE IF NOT EXISTS rounds (
    token TEXT PRIMARY KEY,
    call_id TEXT NOT NULL,
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
CREATE INDEX IF NOT EXISTS rounds_by_call ON rounds (call_id);
CREATE INDEX IF NOT EXISTS rounds_pending ON rounds (person) WHERE digest IS NULL AND until IS NULL;
CREATE TABLE IF NOT EXISTS journal (
    call_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    entry BLOB NOT NULL,
    PRIMARY KEY (call_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS flows (
    elicitation_id TEXT PRIMARY KEY,
    person TEXT NOT NULL,
    deadline REAL NOT NULL,
    completed INTEGER NOT NULL,
    proof BLOB NOT NULL
) STRICT, WITHOUT ROWID;
"""


def insert(db: sqlite3.Connection, sealer: Sealer, record: RoundRecord) -> None:
    db.execute(
        f"INSERT INTO rounds ({rows.COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - SQL of ours, no input
        rows.dump_round(sealer, record),
    )
    db.execute("DELETE FROM journal WHERE call_id = ?", (record.call_id,))
    append(db, sealer, record.call_id, record.journal)


def find(db: sqlite3.Connection, sealer: Sealer, token: str) -> RoundRecord | None:
    row = db.execute(
        f"SELECT {rows.COLUMNS}, answers FROM rounds WHERE token = ?",  # noqa: S608 - SQL of ours, no input
        (token,),
    ).fetchone()
    if row is None:
        return None
    record = rows.load_round(sealer, row)
    steps = db.execute("SELECT entry FROM journal WHERE call_id = ? ORDER BY position", (record.call_id,))
    journal = rows.load_entries(sealer, record.call_id, (entry for (entry,) in steps))
    later = db.execute(
        "SELECT 1 FROM rounds WHERE call_id = ? AND number > ?", (record.call_id, record.number)
    )
    given = () if later.fetchone() else rows.load_answers(sealer, token, row[-1], record.pins)
    return record._replace(journal=(*journal, *given))


def consume(db: sqlite3.Connection, sealer: Sealer, token: str, use: RoundUse) -> ConsumeResult:
    query = f"SELECT {rows.JUDGED} FROM rounds WHERE token = ?"  # noqa: S608 - SQL of ours, no input
    row = db.execute(query, (token,)).fetchone()
    taken = rows.judge(sealer, token, row, use)
    if taken.verdict == "first":
        db.execute(
            "UPDATE rounds SET digest = ?, answers = ?, since = ? WHERE token = ?",
            (*rows.dump_use(sealer, token, use), use.now, token),
        )
    return taken


def append(db: sqlite3.Connection, sealer: Sealer, call_id: str, entries: Sequence[JournalEntry]) -> None:
    (position,) = db.execute(
        "SELECT coalesce(max(position) + 1, 0) FROM journal WHERE call_id = ?", (call_id,)
    ).fetchone()
    db.executemany(
        "INSERT INTO journal VALUES (?, ?, ?)", rows.dump_entries(sealer, call_id, position, entries)
    )


def hold(db: sqlite3.Connection, token: str, since: float, now: float) -> bool:
    held = db.execute(
        "UPDATE rounds SET since = ? WHERE token = ? AND since = ? AND outcome IS NULL", (now, token, since)
    )
    return held.rowcount == 1


def close(db: sqlite3.Connection, token: str) -> bool:
    closed = db.execute(
        "UPDATE rounds SET until = deadline + ? WHERE token = ? AND digest IS NULL", (rows.GRACE, token)
    )
    return closed.rowcount == 1


def settle(db: sqlite3.Connection, sealer: Sealer, token: str, outcome: RoundOutcome, until: float) -> None:
    db.execute(
        "UPDATE rounds SET outcome = ?, outcome_value = ?, until = ? WHERE token = ?",
        (outcome.kind, rows.dump_outcome(sealer, token, outcome), until, token),
    )


def end(db: sqlite3.Connection, call_id: str, until: float) -> None:
    db.execute("DELETE FROM journal WHERE call_id = ?", (call_id,))
    db.execute(
        "UPDATE rounds SET answers = NULL, questions = NULL, until = ? WHERE call_id = ?",
        (until, call_id),
    )


def are_known(db: sqlite3.Connection, sealer: Sealer, now: float) -> bool:
    """Whether we have the key of the newest waiting question."""
    newest = db.execute(
        "SELECT arguments FROM rounds WHERE digest IS NULL AND until IS NULL AND deadline > ?"
        " ORDER BY rowid DESC LIMIT 1",
        (now,),
    ).fetchone()
    return newest is None or sealer.knows(newest[0])


def pending(db: sqlite3.Connection, sealer: Sealer, person: str | None) -> list[RoundRecord]:
    found = db.execute(
        f"SELECT {rows.COLUMNS} FROM rounds"  # noqa: S608 - SQL of ours, no input
        " WHERE digest IS NULL AND until IS NULL AND person = coalesce(?, person) ORDER BY rowid",
        (person,),
    )
    return [rows.load_round(sealer, row) for row in found]


def unfinished(db: sqlite3.Connection) -> list[UnfinishedRound]:
    query = "SELECT call_id, handler, deadline FROM rounds WHERE outcome IS NULL AND until IS NULL"
    return [UnfinishedRound(*row) for row in db.execute(query)]


def prune(db: sqlite3.Connection, now: float) -> int:
    gone = db.execute("DELETE FROM rounds WHERE ? >= coalesce(until, deadline + ?)", (now, rows.GRACE))
    db.execute("DELETE FROM journal WHERE call_id NOT IN (SELECT call_id FROM rounds)")
    return gone.rowcount


def open_flow(db: sqlite3.Connection, sealer: Sealer, flow: Flow) -> None:
    if (known := find_flow(db, sealer, flow.elicitation_id)) is not None:
        if known.person != flow.person:
            raise StoreError("this elicitation id belongs to somebody else")
        flow = known._replace(deadline=max(known.deadline, flow.deadline))
    _put_flow(db, sealer, flow)


def complete_flow(
    db: sqlite3.Connection, sealer: Sealer, elicitation_id: str, person: str, now: float
) -> bool:
    flow = find_flow(db, sealer, elicitation_id)
    if flow is None or flow.person != person or now >= flow.deadline:
        return False
    _put_flow(db, sealer, flow._replace(completed=True))
    return True


def find_flow(db: sqlite3.Connection, sealer: Sealer, elicitation_id: str) -> Flow | None:
    row = db.execute("SELECT * FROM flows WHERE elicitation_id = ?", (elicitation_id,)).fetchone()
    return None if row is None else rows.load_flow(sealer, row)


def _put_flow(db: sqlite3.Connection, sealer: Sealer, flow: Flow) -> None:
    db.execute("INSERT OR REPLACE INTO flows VALUES (?, ?, ?, ?, ?)", (*flow, rows.prove_flow(sealer, flow)))


def prune_flows(db: sqlite3.Connection, now: float) -> int:
    return db.execute("DELETE FROM flows WHERE ? >= deadline", (now,)).rowcount
