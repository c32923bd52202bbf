"""The ledger in an SQLite file: its anchor is a copy of what is committed, and of nothing else."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handraise.ledger.proof import KeyedAuthenticator, LedgerKeys, Tree, anchor_of
from handraise.stores import SqliteStore
from handraise.stores.sealing import Sealer
from handraise.stores.sqlite_side_files import AnchorFile
from handraise.testing.ledgers import a_record, bodies, keyed
from handraise.testing.part_contracts import a_round

pytestmark = pytest.mark.shows("G4")

KEYED = KeyedAuthenticator(lambda: LedgerKeys(b"k" * 32))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "store.db", keys=[b"k" * 32])
    yield store
    await store.aclose()


async def test_the_anchor_is_at_the_head_after_every_write(store: SqliteStore, tmp_path: Path) -> None:
    tables, anchor = keyed(store), AnchorFile(tmp_path / "store.db")
    ages = []

    async def look() -> None:
        found = anchor.read()
        assert found == anchor_of(await tables.place(1000))
        ages.append(found.age)

    await tables.record([a_record("one", kept=True), a_record("two")])
    await look()
    await store.open_round(a_round(), events=[a_record("three")])
    await look()
    await tables.add_note(KEYED.checkpoint(1))
    await look()
    assert await tables.erase(["c_one"], KEYED.erasure(2)) == 1
    await look()
    assert await tables.cut(1, KEYED.removal(3, Tree().grown(await tables.hashes(0, 1)))) == 1
    await look()
    assert ages == [2, 3, 4, 5, 6]


async def test_a_write_that_fails_leaves_the_anchor_where_it_was_and_those_beside_it_alone(
    store: SqliteStore, tmp_path: Path
) -> None:
    tables, anchor = keyed(store), AnchorFile(tmp_path / "store.db")

    def fail(db: sqlite3.Connection, sealer: Sealer) -> None:
        store.ledger.add(db, sealer, [a_record("not written")])
        raise ZeroDivisionError

    for size, token in enumerate(("hr1.first", "hr1.second")):
        beside = store.open_round(a_round(token, call_id=token))
        done = await asyncio.gather(store.database.write(fail), beside, return_exceptions=True)
        assert [type(each) for each in done] == [ZeroDivisionError, type(None)]
        found = anchor.read()
        assert found == anchor_of(await tables.place(1000))
        assert found.size == size
        await tables.record([a_record(token)])
    assert await bodies(store) == [b"hr1.first", b"hr1.second"]
