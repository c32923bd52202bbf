"""Every store keeps a vault's secrets alike."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handraise.stores import MemoryStore, SqliteStore
from handraise.stores.postgres import PostgresStore
from handraise.testing import SecretsContract
from handraise.vault import SecretTable


@pytest.mark.shows("X1", "L11")
class TestMemorySecrets(SecretsContract):
    @pytest.fixture
    async def table(self) -> AsyncIterator[SecretTable]:
        store = MemoryStore()
        yield store.secrets
        await store.aclose()


@pytest.mark.shows("X1", "L11")
class TestSqliteSecrets(SecretsContract):
    @pytest.fixture
    async def table(self, tmp_path: Path) -> AsyncIterator[SecretTable]:
        store = SqliteStore(tmp_path / "store.db")
        yield store.secrets
        await store.aclose()


@pytest.mark.stranger
@pytest.mark.shows("X1", "L11")
class TestPostgresSecrets(SecretsContract):
    @pytest.fixture
    async def table(self, url: str) -> AsyncIterator[SecretTable]:
        store = PostgresStore(url, keys=[b"k" * 32])
        yield store.secrets
        await store.aclose()
