"""The table of flows: URL questions that somebody has to finish in a browser."""

from __future__ import annotations

import sqlite3

from handraise.conversation.records import Flow
from handraise.errors import StoreError

SCHEMA = """
CREATE TABLE IF NOT EXISTS flows (
    elicitation_id TEXT PRIMARY KEY,
    person TEXT NOT NULL,
    deadline REAL NOT NULL,
    completed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""


def open_flow(db: sqlite3.Connection, flow: Flow) -> None:
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


def complete(db: sqlite3.Connection, elicitation_id: str, person: str, now: float) -> bool:
    done = db.execute(
        "UPDATE flows SET completed = 1 WHERE elicitation_id = ? AND person = ? AND deadline > ?",
        (elicitation_id, person, now),
    )
    return done.rowcount == 1


def find(db: sqlite3.Connection, elicitation_id: str) -> Flow | None:
    row = db.execute("SELECT * FROM flows WHERE elicitation_id = ?", (elicitation_id,)).fetchone()
    return None if row is None else Flow(row[0], row[1], row[2], bool(row[3]))


def prune(db: sqlite3.Connection, now: float) -> int:
    return db.execute("DELETE FROM flows WHERE ? >= deadline", (now,)).rowcount
