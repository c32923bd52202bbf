"""Combine the writes of many callers into few transactions and statements."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any, Final, Generic, TypeAlias, TypeVar

from handraise.stores.seal import Sealer
from handraise.stores.sqlite.file import SqliteFile

T = TypeVar("T")
Callers: TypeAlias = list[tuple[asyncio.Future[None], Sequence[T]]]
"""The waiting callers and the value of each."""


class WriteBatcher(Generic[T]):
    """Combines the writes of callers. Each caller waits, and fails, for itself."""

    def __init__(
        self, file: SqliteFile, work: Callable[[sqlite3.Connection, Sealer, Sequence[T]], None]
    ) -> None:
        self._file = file
        self._work = work
        self._gathering: tuple[asyncio.AbstractEventLoop, Callers[T]] | None = None

    def write(self, items: Sequence[T]) -> asyncio.Future[None]:
        """Write these together with other writes of this turn of the loop. On return they are on disk."""
        loop = asyncio.get_running_loop()
        if self._gathering is None or self._gathering[0] is not loop:
            self._gathering = loop, []
            loop.call_soon(self._send, self._gathering[1])
        done: asyncio.Future[None] = loop.create_future()
        self._gathering[1].append((done, items))
        return done

    def _send(self, callers: Callers[T]) -> None:
        self._gathering = None
        items = [item for done, given in callers if not done.done() for item in given]
        written = self._file.write(lambda db, sealer: self._work(db, sealer, items), gathered=True)
        written.add_done_callback(partial(self._tell, callers))

    def _tell(self, callers: Callers[T], written: asyncio.Future[None]) -> None:
        error = written.exception()
        if error is not None and len(callers) > 1:
            for caller in callers:  # find the failing one by writing each alone
                self._send([caller])
            return
        for done, _ in callers:
            if done.done():  # cancelled
                continue
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)


_MOST: Final = 64
"""The most rows in one statement. Sizes are powers of two, so that few statements are prepared."""


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
