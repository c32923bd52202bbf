"""The table of flows: URL questions that somebody has to finish in a browser."""

from __future__ import annotations

import sqlite3

from handraise.conversation.records import Flow
from handraise.errors import StoreError
from handraise.stores import sealed_tickets as rows
from handraise.stores.seal import Sealer

SCHEMA = """
CREATE TABLE IF NOT EXISTS flows (
    elicitation_id TEXT PRIMARY KEY,
    person TEXT NOT NULL,
    deadline REAL NOT NULL,
    completed INTEGER NOT NULL,
    proof BLOB NOT NULL
) STRICT, WITHOUT ROWID;
"""


def open_flow(db: sqlite3.Connection, sealer: Sealer, flow: Flow) -> None:
    if (known := find(db, sealer, flow.elicitation_id)) is not None:
        if known.person != flow.person:
            raise StoreError("this elicitation id belongs to somebody else")
        flow = known._replace(deadline=max(known.deadline, flow.deadline))
    _put(db, sealer, flow)


def complete(db: sqlite3.Connection, sealer: Sealer, elicitation_id: str, person: str, now: float) -> bool:
    flow = find(db, sealer, elicitation_id)
    if flow is None or flow.person != person or now >= flow.deadline:
        return False
    _put(db, sealer, flow._replace(completed=True))
    return True


def find(db: sqlite3.Connection, sealer: Sealer, elicitation_id: str) -> Flow | None:
    row = db.execute("SELECT * FROM flows WHERE elicitation_id = ?", (elicitation_id,)).fetchone()
    return None if row is None else rows.load_flow(sealer, row)


def _put(db: sqlite3.Connection, sealer: Sealer, flow: Flow) -> None:
    db.execute("INSERT OR REPLACE INTO flows VALUES (?, ?, ?, ?, ?)", (*flow, rows.prove_flow(sealer, flow)))


def prune(db: sqlite3.Connection, now: float) -> int:
    return db.execute("DELETE FROM flows WHERE ? >= deadline", (now,)).rowcount
