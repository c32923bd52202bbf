"""A look at the store without opening it: cheap while nothing waits, and never wrong about what does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handraise.gateway.parking.glance import OWN_FILE, Glance, glance_at
from handraise.stores import SqliteStore, named
from handraise.testing.tickets import RESULT, TICKET

pytestmark = pytest.mark.anyio


async def test_what_waits_is_seen_from_when_it_is_parked_until_it_ends(tmp_path: Path) -> None:
    may_wait = Glance(tmp_path / "store.db")
    assert not may_wait()
    store = SqliteStore(tmp_path / "store.db")
    await store.tickets.open(TICKET)
    assert may_wait()
    assert may_wait()
    await store.tickets.settle("k", RESULT, until=200.0)
    assert not may_wait()
    await store.tickets.open(TICKET._replace(key="next"))
    await store.aclose()
    assert may_wait()
    assert Glance(tmp_path / "store.db")()


def test_a_file_that_cannot_be_read_may_hold_something(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text("no database")
    assert glance_at(str(tmp_path / "store.db"))()


def test_a_database_is_not_looked_at() -> None:
    assert glance_at("postgresql://nowhere.invalid/x")()


def test_the_users_own_file_is_the_one_that_stores_know() -> None:
    assert named.own_store_file(os.environ).name == OWN_FILE
