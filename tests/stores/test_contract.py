"""Every store keeps the same contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.postgres import PostgresServer

from handraise.conversation import Store
from handraise.stores import MemoryStore, SqliteStore
from handraise.stores.postgres import PostgresStore
from handraise.testing import LedgerContract, StoreContract


@pytest.mark.shows("X1", "C3")
class TestMemoryStore(StoreContract, LedgerContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        store = MemoryStore()
        yield store
        await store.aclose()


@pytest.mark.shows("X1", "C3")
class TestSqliteStore(StoreContract, LedgerContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        store = SqliteStore(tmp_path / "store.db")
        yield store
        await store.aclose()


@pytest.mark.stranger
@pytest.mark.shows("X1", "C3")
class TestPostgresStore(StoreContract, LedgerContract):
    @pytest.fixture
    async def store(self, postgres: PostgresServer) -> AsyncIterator[Store]:
        store = PostgresStore(postgres.new_database(), keys=[b"k" * 32])
        yield store
        await store.aclose()


def test_records_of_memory_go_with_the_process_and_those_of_a_file_stay(tmp_path: Path) -> None:
    assert not MemoryStore().durable
    assert SqliteStore(tmp_path / "store.db").durable
