"""Many rows in few statements: a statement for each row costs half as much again."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any, Final

_MOST: Final = 64
"""Rows in one statement at most. Sizes are powers of two, so that few statements have to be prepared, and stay so."""


def insert(db: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert whole rows, in their order."""
    at = 0
    while (left := len(rows) - at) > 0:
        count = min(_MOST, 1 << left.bit_length() - 1)
        part = rows[at : at + count]
        db.execute(_statement(table, len(part[0]), count), list(chain.from_iterable(part)))
        at += count


@cache
def _statement(table: str, columns: int, rows: int) -> str:
    row = f"({', '.join('?' * columns)})"
    return f"INSERT INTO {table} VALUES {', '.join([row] * rows)}"  # noqa: S608 - SQL of ours, no input
