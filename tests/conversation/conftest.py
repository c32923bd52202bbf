"""Every kind of store, and a place to write down what bodies did."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.conversation.parking import Log, Unsteady

from handraise.conversation import Store
from handraise.stores import MemoryStore, SqliteStore


@pytest.fixture(params=["memory", "sqlite", "unsteady"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    stores: dict[str, Any] = {
        "memory": MemoryStore,
        "sqlite": lambda: SqliteStore(tmp_path / "store.db"),
        "unsteady": Unsteady,
    }
    made: Any = stores[request.param]()
    yield made
    await made.aclose()


@pytest.fixture
def log() -> Log:
    return Log()
