"""Parked calls are kept alike in every store: taken over once, and never after their answers were sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handraise.conversation.tickets import Ticket, Tickets
from handraise.stores import MemoryStore, SqliteStore
from handraise.stores.postgres import PostgresStore

pytestmark = pytest.mark.anyio

ROUND = {"inputRequests": {"q": {"method": "elicitation/create"}}, "requestState": "st\u00e4te"}
TICKET = Ticket("k", "ada", "notes", "one", 100.0, {"method": "tools/call", "params": {"name": "x"}}, ROUND)


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.stranger)])
async def tickets(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Tickets]:
    store: MemoryStore | SqliteStore | PostgresStore
    if request.param == "postgres":
        store = PostgresStore(request.getfixturevalue("postgres").new_database(), keys=[b"k" * 32])
    else:
        store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "store.db")
    yield store.tickets
    await store.aclose()


async def test_what_was_opened_is_found_as_it_was(tickets: Tickets) -> None:
    await tickets.open(TICKET)
    assert await tickets.find("k") == TICKET
    assert await tickets.find("other") is None


async def test_one_process_takes_a_call_over(tickets: Tickets) -> None:
    await tickets.open(TICKET)
    assert await tickets.take("k", was="one", holder="two")
    assert not await tickets.take("k", was="one", holder="three")
    assert not await tickets.send("k", holder="one")
    assert await tickets.send("k", holder="two")


async def test_what_was_sent_is_not_taken_over(tickets: Tickets) -> None:
    await tickets.open(TICKET)
    assert await tickets.send("k", holder="one")
    assert not await tickets.take("k", was="one", holder="two")
    await tickets.ask("k", {"requestState": "next"})
    assert await tickets.take("k", was="one", holder="two")
    found = await tickets.find("k")
    assert found is not None
    assert found.round == {"requestState": "next"}


async def test_the_outcome_is_kept_for_a_while_and_the_call_forgotten(tickets: Tickets) -> None:
    await tickets.open(TICKET)
    await tickets.settle("k", {"result": {}}, until=200.0)
    found = await tickets.find("k")
    assert found is not None
    assert (found.outcome, found.call, found.round) == ({"result": {}}, None, None)
    assert not await tickets.take("k", was="one", holder="two")
    assert await tickets.prune(199.0) == 0
    assert await tickets.prune(200.0) == 1
    assert await tickets.find("k") is None


def _written(directory: Path) -> bytes:
    return b"".join(file.read_bytes() for file in directory.iterdir() if file.suffix != ".key")


async def test_nothing_of_a_call_is_readable_in_the_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.tickets.open(TICKET)
    await store.aclose()
    written = _written(tmp_path)
    assert b"elicitation/create" not in written
    assert "st\u00e4te".encode() not in written
