"""One SQLite file: its connection, its worker thread, its transactions, the version of its tables.

All waiting work shares one transaction, so that concurrent writers share one sync of the disk. A caller returns only
after that transaction is on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar

from handraise.disk import Leftover, make_directory, make_private
from handraise.errors import StoreError
from handraise.stores.sealing import Sealer, key_file_beside, require_keys


class Worker:
    """Does work in order. Its thread starts with the first work, and ends with the last reference to the worker."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._begun = False

    def do(self, work: Callable[[], None]) -> None:
        """Queue work for the thread. The work must report its errors itself."""
        if not self._begun:
            self._begin()
        self._work.put(work)

    def _begin(self) -> None:
        with self._lock:
            if not self._begun:
                self._begun = True
                weakref.finalize(self, self._work.put, None)
                # A daemon: a program that ends does not wait for it. Unacknowledged work may be lost.
                threading.Thread(target=_do_all, args=(self._work,), name=self._name, daemon=True).start()


def _do_all(work: SimpleQueue[Callable[[], None] | None]) -> None:
    while (each := work.get()) is not None:
        each()
        del each  # it may be the last reference to the worker


T = TypeVar("T")

FileWork: TypeAlias = Callable[[sqlite3.Connection, Sealer], T]
"""Work for the worker thread; it gets the connection and the sealer."""

_VERSION = 4
"""The version of all tables in the file. A change of any table raises it."""
_PATIENCE = 10.0
"""Seconds to wait for another writing process."""
_ERASING = 2.0
"""Seconds to wait for reading connections, so that erased data can leave the write-ahead log."""


class SqliteFile:
    """Runs work on one SQLite file (WAL, synchronous FULL), private to its owner, opened when it is first used.

    It is closed by `aclose`, or with the last reference.
    """

    _let_go: weakref.finalize[[], SqliteFile]
    """Closes the open connection, once."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        schemas: Iterable[str],
        keys: Sequence[bytes | str] | None = None,
    ) -> None:
        self.path: Path = Path(path)
        self.schema: str = " ".join(schemas)
        """The SQL that makes all tables of the file."""
        self._keys = None if keys is None else require_keys(keys)
        self._worker = Worker("handraise-store")
        self._waiting: list[_Unit] = []
        self._lock = threading.Lock()
        self._opened: tuple[sqlite3.Connection, Sealer] | None = None
        self.after_commit: Callable[[sqlite3.Connection], None] = lambda db: None
        """Runs after a commit, before callers return. They get its error."""

    def read(self, work: FileWork[T]) -> asyncio.Future[T]:
        """Run read-only work and return its result. It sees all earlier writes."""
        return self._take(_Unit(work, writes=False))

    def write(self, work: FileWork[T]) -> asyncio.Future[T]:
        """Run the work and return its result once all its changes are on disk. If it fails, nothing changes."""
        return self._take(_Unit(work, writes=True))

    async def get_sealer(self) -> Sealer:
        """The sealer of the contents. Its key is read, or made, with the file."""
        return await self.read(lambda _, sealer: sealer)

    async def one(self, query: str, params: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """The first row of one statement that reads."""
        found = await self.all(query, params)
        return found[0] if found else None

    async def all(self, query: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement that reads."""
        return await self.read(lambda db, _: db.execute(query.replace("%s", "?"), params).fetchall())

    async def change(self, query: str, params: Sequence[Any] = ()) -> int:
        """How many rows one statement changed."""
        return await self.write(lambda db, _: db.execute(query.replace("%s", "?"), params).rowcount)

    async def flush(self) -> None:
        """Remove deleted data from the write-ahead log, unless another connection is reading.

        This is cheap, for finished calls. To be sure that data is gone, use `purge`.
        """
        await self.read(lambda db, _: _empty_log(db, patience=0.0))

    async def purge(self, *tables: str) -> Leftover | None:
        """Remove deleted and overwritten data from the disk. Returns what is left if that is not possible yet.

        It rewrites the whole file, whatever the tables. So it is for commands that erase, not for every deletion.
        """
        if await self.read(lambda db, _: _purge(db)):
            return None
        log = self.path.with_name(f"{self.path.name}-wal")
        return Leftover(
            f"{self.path} and its write-ahead log {log}", "another connection reads them", again=True
        )

    async def aclose(self) -> None:
        """Close the file. The next use opens it again."""
        unit = _Unit(lambda _db, _: self._let_go(), writes=False)

        def close() -> None:
            if self._opened is not None:
                opened, self._opened = self._opened, None
                unit.run(*opened)
            _tell([unit])

        self._worker.do(close)
        await unit.done

    def _take(self, unit: _Unit) -> asyncio.Future[Any]:
        with self._lock:
            waiting = self._waiting
            first = not waiting or waiting[0].loop is not unit.loop
            waiting.append(unit)
        if first:  # later in this turn: other writers join the transaction
            unit.loop.call_soon(self._worker.do, self._run_waiting)
        return unit.done

    def _run_waiting(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        units = [unit for unit in waiting if not unit.done.cancelled()]
        try:
            db, sealer = self._open()
            _commit(db, sealer, [unit for unit in units if unit.writes])
            self.after_commit(db)
            for unit in units:
                if not unit.writes:
                    unit.run(db, sealer)
        except Exception as error:  # noqa: BLE001 - the waiting caller gets it
            for unit in units:
                unit.fail(error)
        for unit in units:
            if isinstance(unit.error, sqlite3.Error | OSError | UnicodeError):
                unit.error = _chained(StoreError(f"{self.path}: {unit.error}"), unit.error)
        _tell(units)

    def _open(self) -> tuple[sqlite3.Connection, Sealer]:
        if self._opened is None:
            make_directory(self.path.parent)
            make_private(self.path)
            sealer = Sealer(self._keys if self._keys is not None else [key_file_beside(self.path)])
            db = _connect(self.path, self.schema)
            self._opened = db, sealer
            self._let_go = weakref.finalize(self, db.close)
            self._let_go.atexit = False  # the worker may still use it
        return self._opened


class _Unit:
    """The work of one caller, and its result."""

    __slots__ = ("_result", "_work", "done", "error", "loop", "writes")

    def __init__(self, work: FileWork[Any], *, writes: bool) -> None:
        self.writes = writes
        self.loop = asyncio.get_running_loop()
        self.done: asyncio.Future[Any] = self.loop.create_future()
        self._work = work
        self._result: Any = None
        self.error: Exception | None = None

    def run(self, db: sqlite3.Connection, sealer: Sealer) -> None:
        try:
            self._result = self._work(db, sealer)
        except Exception as error:  # noqa: BLE001 - the caller gets it
            self.error = error

    def fail(self, error: Exception) -> None:
        self.error = self.error or error

    def tell(self) -> None:
        if self.done.cancelled():
            return
        if self.error is not None:
            self.done.set_exception(self.error)
        else:
            self.done.set_result(self._result)


def _commit(db: sqlite3.Connection, sealer: Sealer, units: Sequence[_Unit]) -> None:
    """Run the units in one transaction. A failing unit rolls back only its own changes."""
    if not units:
        return
    try:
        db.execute("BEGIN IMMEDIATE")
        for unit in units:
            db.execute("SAVEPOINT unit")
            unit.run(db, sealer)
            if unit.error is not None:
                db.execute("ROLLBACK TO unit")
            db.execute("RELEASE unit")
        db.execute("COMMIT")
    except Exception as error:  # noqa: BLE001 - everybody who shared the transaction gets it
        if db.in_transaction:
            db.execute("ROLLBACK")
        for unit in units:
            unit.fail(error)


def _chained(error: StoreError, cause: Exception) -> StoreError:
    error.__cause__ = cause
    return error


def _tell(units: Sequence[_Unit]) -> None:
    """Wake every loop once, however many of its callers waited."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Unit]] = {}
    for unit in units:
        by_loop.setdefault(unit.loop, []).append(unit)
    for loop, told in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_tell_all, told)


def _tell_all(units: Sequence[_Unit]) -> None:
    for unit in units:
        unit.tell()


def reading_uri(path: Path) -> str:
    """The URI that opens a file read-only, even on a read-only disk.

    To read a file in WAL mode, SQLite makes files beside it, which fails on a read-only disk. Such a file does not
    change, so `immutable` is right. But if a log is left beside it, `immutable` would hide the newest records.
    """
    log = path.with_name(f"{path.name}-wal")
    archived = not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)
    return f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if archived else ''}"


def _connect(path: Path, schema: str) -> sqlite3.Connection:
    writable = os.access(path.parent, os.W_OK)
    where = path.absolute().as_uri() if writable else reading_uri(path)
    db = sqlite3.connect(where, uri=True, isolation_level=None, check_same_thread=False, timeout=_PATIENCE)
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version not in (0, _VERSION):
            raise StoreError(
                f"{path} was written by another version of Handraise (its tables have version {version}, this one "
                f"has version {_VERSION}): use that version, or move the file away with all files whose names begin "
                "like its own, and a new one is begun"
            )
        if not writable:
            return db
        _switch_to_wal(db)
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA secure_delete = ON")
        db.executescript(f"BEGIN IMMEDIATE; {schema} PRAGMA user_version = {_VERSION}; COMMIT;")
    except BaseException:
        db.close()
        raise
    return db


def _switch_to_wal(db: sqlite3.Connection) -> None:
    """Switch to WAL; wait if another process does so at the same moment, because SQLite does not wait."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                raise
            time.sleep(0.01)


def _purge(db: sqlite3.Connection) -> bool:
    """Remove everything from the disk that is not in the tables; False when another connection is in the way.

    `secure_delete` overwrites a deleted row. It misses copies in the free space of pages that SQLite rearranged. VACUUM
    rewrites the whole file.
    """
    if not _empty_log(db, patience=_ERASING):
        return False
    try:
        db.execute("VACUUM")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        return False
    return _empty_log(db, patience=_ERASING)


def _empty_log(db: sqlite3.Connection, *, patience: float) -> bool:
    """Move the write-ahead log into the file and truncate it; False when another connection still reads it.

    SQLite says so in the first column of its reply, and raises nothing.
    """
    end = time.monotonic() + patience
    db.execute("PRAGMA busy_timeout = 0")  # SQLite would block all writers while it waits
    try:
        while True:
            busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy or time.monotonic() >= end:
                return not busy
            time.sleep(0.02)
    finally:
        db.execute(f"PRAGMA busy_timeout = {_PATIENCE * 1000:.0f}")


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
        written = self._file.write(lambda db, sealer: self._work(db, sealer, items))
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
