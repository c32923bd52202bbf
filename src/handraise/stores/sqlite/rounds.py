"""The tables of rounds and of the journal: what pausing and resuming keeps."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from handraise.conversation.digest import Written
from handraise.conversation.records import Binding, Consumption, Entry, Json, Outcome, RoundRecord, Unfinished
from handraise.stores import sealed_rounds as rows
from handraise.stores.seal import Sealer

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
    db.execute(
        f"INSERT INTO rounds ({rows.COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - SQL of ours, no input
        rows.dump_round(sealer, record),
    )
    db.execute("DELETE FROM journal WHERE conversation = ?", (record.conversation,))
    append(db, sealer, record.conversation, record.journal)


def find(db: sqlite3.Connection, sealer: Sealer, token: str) -> RoundRecord | None:
    row = db.execute(
        f"SELECT {rows.COLUMNS}, answers FROM rounds WHERE token = ?",  # noqa: S608 - SQL of ours, no input
        (token,),
    ).fetchone()
    if row is None:
        return None
    record = rows.load_round(sealer, row)
    steps = db.execute(
        "SELECT entry FROM journal WHERE conversation = ? ORDER BY position", (record.conversation,)
    )
    journal = rows.load_entries(sealer, record.conversation, (entry for (entry,) in steps))
    later = db.execute(
        "SELECT 1 FROM rounds WHERE conversation = ? AND number > ?", (record.conversation, record.number)
    )
    given = () if later.fetchone() else rows.load_answers(sealer, token, row[-1], record.pins)
    return record._replace(journal=(*journal, *given))


def consume(
    db: sqlite3.Connection,
    sealer: Sealer,
    token: str,
    binding: Binding,
    answers: dict[str, Json],
    said: Written,
    now: float,
) -> Consumption:
    query = f"SELECT {rows.JUDGED} FROM rounds WHERE token = ?"  # noqa: S608 - SQL of ours, no input
    row = db.execute(query, (token,)).fetchone()
    taken = rows.judge(sealer, token, row, binding, said, now)
    if taken.verdict == "first":
        db.execute(
            "UPDATE rounds SET digest = ?, answers = ?, since = ? WHERE token = ?",
            (*rows.dump_use(sealer, token, said, answers), now, token),
        )
    return taken


def append(db: sqlite3.Connection, sealer: Sealer, conversation: str, entries: Sequence[Entry]) -> None:
    (position,) = db.execute(
        "SELECT coalesce(max(position) + 1, 0) FROM journal WHERE conversation = ?", (conversation,)
    ).fetchone()
    db.executemany(
        "INSERT INTO journal VALUES (?, ?, ?)", rows.dump_entries(sealer, conversation, position, entries)
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


def settle(db: sqlite3.Connection, sealer: Sealer, token: str, outcome: Outcome, until: float) -> None:
    db.execute(
        "UPDATE rounds SET outcome = ?, outcome_value = ?, until = ? WHERE token = ?",
        (outcome.kind, rows.dump_outcome(sealer, token, outcome), until, token),
    )


def end(db: sqlite3.Connection, conversation: str, until: float) -> None:
    db.execute("DELETE FROM journal WHERE conversation = ?", (conversation,))
    db.execute(
        "UPDATE rounds SET answers = NULL, questions = NULL, until = ? WHERE conversation = ?",
        (until, conversation),
    )


def are_known(db: sqlite3.Connection, sealer: Sealer, now: float) -> bool:
    """Whether the newest question that waits was sealed with a key that we have."""
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


def unfinished(db: sqlite3.Connection) -> list[Unfinished]:
    query = "SELECT conversation, handler, deadline FROM rounds WHERE outcome IS NULL AND until IS NULL"
    return [Unfinished(*row) for row in db.execute(query)]


def prune(db: sqlite3.Connection, now: float) -> int:
    gone = db.execute("DELETE FROM rounds WHERE ? >= coalesce(until, deadline + ?)", (now, rows.GRACE))
    db.execute("DELETE FROM journal WHERE conversation NOT IN (SELECT conversation FROM rounds)")
    return gone.rowcount
