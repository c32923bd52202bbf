"""A ledger in a file, and a clock that only moves when it is told to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handraise.ledger import Ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
async def ledger(path: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger.at(path)
    yield ledger
    await ledger.aclose()
