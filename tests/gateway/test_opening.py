"""Opening what asking needs: all of it, or nothing stays open."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.gateway.sides import make_home

from handraise.desks.gate import PolicyGate
from handraise.errors import SetupError
from handraise.gateway.local_desk import open_question_handler
from handraise.gateway.options import Options
from handraise.policy import load_policy

pytestmark = pytest.mark.anyio


async def test_a_store_that_cannot_be_opened_leaves_no_ledger_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in make_home(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("HANDRAISE_STORE_KEYS", raising=False)
    before = asyncio.all_tasks()
    with pytest.raises(SetupError, match="keys that all its nodes share"):
        await open_question_handler(PolicyGate(load_policy()), Options(store="postgresql://localhost/notes"))
    assert (tmp_path / "data/handraise/ledger.db").exists()
    assert asyncio.all_tasks() == before
