"""What many callers write in one turn of the loop is one piece of work, and each of them fails for itself."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from handraise.errors import StoreError
from handraise.stores.seal import Sealer
from handraise.stores.sqlite.file import SqliteFile, WriteBatcher

TABLE = "CREATE TABLE IF NOT EXISTS things (name TEXT PRIMARY KEY, place INTEGER) STRICT;"


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
    file = SqliteFile(tmp_path / "things.db", schemas=[TABLE], keys=[b"k" * 32])
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
