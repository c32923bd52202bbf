"""Every kind of store, and a place to write down what tools did."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.calls.bare_server import Log, UnsteadyStore

from handraise.calls import Store
from handraise.stores import MemoryStore, SqliteStore


@pytest.fixture(params=["memory", "sqlite", "unsteady"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    stores: dict[str, Callable[[], Any]] = {
        "memory": MemoryStore,
        "sqlite": lambda: SqliteStore(tmp_path / "store.db"),
        "unsteady": UnsteadyStore,
    }
    made = stores[request.param]()
    yield made
    await made.aclose()


@pytest.fixture
def log() -> Log:
    return Log()
