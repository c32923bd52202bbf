"""Many who write to one SQLite file at once share one transaction, and harm each other in nothing."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from handraise.errors import StoreError
from handraise.stores.sealing import Sealer
from handraise.stores.sqlite_file import SqliteFile, Worker, WriteBatcher

TABLE = "CREATE TABLE IF NOT EXISTS things (name TEXT PRIMARY KEY) STRICT;"


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[SqliteFile]:
    file = SqliteFile(tmp_path / "things.db", schemas=[TABLE], keys=[b"k" * 32])
    yield file
    await file.aclose()


async def add(file: SqliteFile, name: str, *, fail: bool = False) -> str:
    def work(db: sqlite3.Connection, _: Sealer) -> str:
        db.execute("INSERT INTO things VALUES (?)", (name,))
        if fail:
            raise ValueError(name)
        return name

    return await file.write(work)


async def names(file: SqliteFile) -> set[str]:
    return await file.read(lambda db, _: {name for (name,) in db.execute("SELECT name FROM things")})


@pytest.mark.shows("G5")
async def test_what_waits_together_is_committed_together(file: SqliteFile) -> None:
    statements: list[str] = []
    await file.read(lambda db, _: db.set_trace_callback(statements.append))
    await asyncio.gather(*(add(file, str(at)) for at in range(100)))
    assert 1 <= statements.count("COMMIT") <= 3
    assert len(await names(file)) == 100


async def test_one_that_fails_takes_back_its_own_changes_only(file: SqliteFile) -> None:
    work = [add(file, str(at), fail=at % 3 == 0) for at in range(30)]
    done = await asyncio.gather(*work, return_exceptions=True)
    for at, outcome in enumerate(done):
        assert isinstance(outcome, ValueError) if at % 3 == 0 else outcome == str(at)
    assert await names(file) == {str(at) for at in range(30) if at % 3}


async def test_of_two_with_the_same_key_in_one_transaction_one_fails(file: SqliteFile) -> None:
    done = await asyncio.gather(add(file, "same"), add(file, "same"), return_exceptions=True)
    assert done[0] == "same"
    assert isinstance(done[1], StoreError)


async def test_nobody_hears_of_success_when_the_commit_fails(file: SqliteFile) -> None:
    await add(file, "before")
    assert file._opened is not None
    db, sealer = file._opened

    class Failing:
        def __getattr__(self, name: str) -> object:
            return getattr(db, name)

        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if sql == "COMMIT":
                raise sqlite3.OperationalError("disk I/O error")
            return db.execute(sql, *values)

    file._opened = (Failing(), sealer)  # type: ignore[assignment]
    done = await asyncio.gather(*(add(file, str(at)) for at in range(5)), return_exceptions=True)
    assert all(isinstance(error, StoreError) for error in done)
    file._opened = (db, sealer)
    assert await names(file) == {"before"}


async def test_who_reads_while_others_write_sees_only_what_is_committed(file: SqliteFile) -> None:
    writing = [asyncio.ensure_future(add(file, str(at))) for at in range(50)]
    seen = await names(file)
    with sqlite3.connect(file.path) as other:
        assert seen <= {name for (name,) in other.execute("SELECT name FROM things")}
    other.close()
    await asyncio.gather(*writing)


async def test_work_that_nobody_waits_for_any_more_harms_nobody(file: SqliteFile) -> None:
    work = [asyncio.ensure_future(add(file, str(at))) for at in range(20)]
    await asyncio.sleep(0)
    for task in work[::2]:
        task.cancel()
    done = await asyncio.gather(*work, return_exceptions=True)
    assert done[1::2] == [str(at) for at in range(1, 20, 2)]
    assert await names(file) >= set(done[1::2])


@pytest.mark.parametrize("empty", [SqliteFile.flush, SqliteFile.purge])
async def test_who_finds_the_file_locked_waits_also_after_the_log_was_emptied(
    file: SqliteFile, empty: Callable[[SqliteFile], Awaitable[object]]
) -> None:
    patience = await file.one("PRAGMA busy_timeout")
    assert patience is not None
    assert patience[0] >= 1000
    await add(file, "written")
    with closing(sqlite3.connect(file.path)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM things").fetchall()
        await file.flush()
        assert file.path.with_name("things.db-wal").stat().st_size, "somebody else still reads it"
        assert await file.one("PRAGMA busy_timeout") == patience
    await empty(file)
    assert file.path.with_name("things.db-wal").stat().st_size == 0
    assert await file.one("PRAGMA busy_timeout") == patience


async def test_a_writer_who_comes_in_between_keeps_the_file_from_being_purged_until_it_is_done(
    file: SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.stores.sqlite_file._PATIENCE", 0)
    await add(file, "written")
    with closing(sqlite3.connect(file.path, check_same_thread=False, isolation_level=None)) as other:

        def come_in_between(statement: str) -> None:
            if statement == "VACUUM":
                other.execute("BEGIN IMMEDIATE")

        await file.read(lambda db, _: db.set_trace_callback(come_in_between))
        left = await file.purge()
        assert left is not None
        assert (left.why, left.again) == ("another connection reads them", True)
        await file.read(lambda db, _: db.set_trace_callback(None))
        other.execute("COMMIT")
    assert await file.purge() is None
    assert await names(file) == {"written"}


async def test_a_file_that_cannot_be_purged_for_another_reason_is_an_error(file: SqliteFile) -> None:
    await add(file, "written")
    await file.all("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match="readonly"):
        await file.purge()


def test_one_file_serves_several_event_loops(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "things.db", schemas=[TABLE], keys=[b"k" * 32])
    for at in range(3):
        assert asyncio.run(add(file, str(at))) == str(at)
    assert asyncio.run(names(file)) == {"0", "1", "2"}
    asyncio.run(file.aclose())


def test_everything_is_done_in_order_by_one_thread_whoever_gave_it() -> None:
    worker, done = Worker("store"), SimpleQueue[tuple[int, str]]()

    def give(number: int) -> None:
        worker.do(lambda: done.put((number, threading.current_thread().name)))

    givers = [threading.Thread(target=give, args=(-1,)) for _ in range(8)]
    for giver in givers:
        giver.start()
    for giver in givers:
        giver.join()
    for number in range(100):
        give(number)
    told = [done.get(timeout=60) for _ in range(108)]
    assert told == [(-1, "store")] * 8 + [(number, "store") for number in range(100)]


@pytest.mark.slow
def test_the_thread_ends_with_its_last_owner() -> None:
    worker, threads = Worker("store"), SimpleQueue[threading.Thread]()
    worker.do(lambda: threads.put(threading.current_thread()))
    thread = threads.get(timeout=60)
    del worker
    gc.collect()
    thread.join(timeout=60)
    assert not thread.is_alive()


PLACES_TABLE = "CREATE TABLE IF NOT EXISTS things (name TEXT PRIMARY KEY, place INTEGER) STRICT;"


class Things:
    """A table, and how often something was written to it."""

    def __init__(self, file: SqliteFile) -> None:
        self.file = file
        self.works: list[int] = []
        self.together = WriteBatcher(file, self._add)

    def _add(self, db: sqlite3.Connection, _: Sealer, names: Sequence[str]) -> None:
        self.works.append(len(names))
        db.executemany("INSERT INTO things VALUES (?, ?)", [(name, at) for at, name in enumerate(names)])

    async def names(self) -> list[str]:
        query = "SELECT name FROM things ORDER BY rowid"
        return await self.file.read(lambda db, _: [name for (name,) in db.execute(query)])


@pytest.fixture
async def things(tmp_path: Path) -> AsyncIterator[Things]:
    file = SqliteFile(tmp_path / "things.db", schemas=[PLACES_TABLE], keys=[b"k" * 32])
    yield Things(file)
    await file.aclose()


@pytest.mark.shows("G5")
async def test_those_of_one_turn_are_one_piece_of_work(things: Things) -> None:
    await asyncio.gather(*(things.together.write([f"a{at}", f"b{at}"]) for at in range(100)))
    assert things.works == [200]
    assert await things.names() == [f"{part}{at}" for at in range(100) for part in "ab"]


async def test_one_that_fails_is_the_only_one(things: Things) -> None:
    written = [["one"], ["two", "one"], ["three"]]
    done = await asyncio.gather(*map(things.together.write, written), return_exceptions=True)
    assert isinstance(done[1], StoreError)
    assert (done[0], done[2]) == (None, None)
    assert await things.names() == ["one", "three"]


async def test_who_waits_no_more_holds_nobody_up(things: Things) -> None:
    gone, there = things.together.write(["gone"]), things.together.write(["there"])
    gone.cancel()
    await there
    assert await things.names() == ["there"]
