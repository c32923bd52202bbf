"""What many callers write in one turn of the loop, written as one piece of work."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from handraise.stores.seal import Sealer
from handraise.stores.sqlite.file import SqliteFile

T = TypeVar("T")
Callers: TypeAlias = list[tuple[asyncio.Future[None], Sequence[T]]]
"""Who waits, and what each of them gave."""


class Together(Generic[T]):
    """Gathers what callers give and has it written at once. Each of them waits, and fails, for itself."""

    def __init__(
        self, file: SqliteFile, work: Callable[[sqlite3.Connection, Sealer, Sequence[T]], None]
    ) -> None:
        self._file = file
        self._work = work
        self._gathering: tuple[asyncio.AbstractEventLoop, Callers[T]] | None = None

    def write(self, items: Sequence[T]) -> asyncio.Future[None]:
        """Write these, together with what others give in this turn of the loop; then they are on disk."""
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
            for caller in callers:  # whose fault it is comes out when each is written alone
                self._send([caller])
            return
        for done, _ in callers:
            if done.done():  # cancelled
                continue
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)
