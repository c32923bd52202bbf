"""Parked calls in a file and in a database: whose process is gone, and what nobody without the key can change."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from handraise.calls.store import Tickets
from handraise.errors import StoreError
from handraise.stores import SqliteStore
from handraise.stores.postgres import PostgresStore
from handraise.stores.postgres_nodes import NodePresence
from handraise.testing.part_contracts import RESPONSE, TICKET

pytestmark = pytest.mark.anyio


@pytest.mark.stranger
async def test_a_node_is_gone_when_it_left_or_its_lease_is_over(url: str) -> None:
    """On whichever machine it was."""
    first, other = (PostgresStore(url, keys=[b"k" * 32]) for _ in range(2))
    here, left = await first.tickets.enter(), await other.tickets.enter()
    killed = NodePresence(first.database, "killed", lease=0.3)
    await killed.beat()  # and never again
    await killed.line.aclose()
    assert await first.tickets.gone({here, left, "killed", "nobody"}) == {"nobody"}
    await other.aclose()
    async with asyncio.timeout(60):
        while await first.tickets.gone({here, left, "killed"}) != {left, "killed"}:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    await first.aclose()


@pytest.mark.parametrize(
    "column", ["person = 'eve'", "server = 'files'", "deadline = deadline + 1", "call = NULL"]
)
@pytest.mark.parametrize("ended", [False, True], ids=["waiting", "ended"])
async def test_a_parked_call_is_neither_given_to_another_nor_prolonged_by_who_writes_to_the_file(
    tmp_path: Path, column: str, ended: bool
) -> None:
    """Somebody without the key could otherwise make themselves the person who gets the result."""
    store = SqliteStore(tmp_path / "store.db")
    await store.tickets.open(TICKET)
    await store.tickets.ask(TICKET.key, {"requestState": "next"})
    if ended:
        await store.tickets.settle(TICKET.key, RESPONSE, until=200.0)
        column = column.replace("call", "outcome")
    assert await store.tickets.find(TICKET.key) is not None
    await store.database.write(lambda db, _: db.execute(f"UPDATE tickets SET {column}"))
    with pytest.raises(StoreError, match="changed"):
        await store.tickets.find(TICKET.key)
    await store.aclose()


@pytest.mark.shows("S6")
async def test_the_outcome_of_a_call_is_sealed_for_nobody_else_in_a_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.tickets.open(TICKET)
    await store.database.write(lambda db, _: db.execute("UPDATE tickets SET person = 'eve'"))
    await _ends_for_nobody(store.tickets)
    await store.aclose()


@pytest.mark.stranger
async def test_the_outcome_of_a_call_is_sealed_for_nobody_else_in_a_database(
    url: str,
) -> None:
    store = PostgresStore(url, keys=[b"k" * 32])
    await store.tickets.open(TICKET)
    await store.database.change("UPDATE tickets SET person = 'eve'")
    await _ends_for_nobody(store.tickets)
    await store.aclose()


async def _ends_for_nobody(tickets: Tickets) -> None:
    """The next value would otherwise be bound to the name that somebody wrote into the row."""
    with pytest.raises(StoreError, match="changed"):
        await tickets.ask(TICKET.key, {"requestState": "next"})
    with pytest.raises(StoreError, match="changed"):
        await tickets.settle(TICKET.key, RESPONSE, until=200.0)
    with pytest.raises(StoreError, match="changed"):
        await tickets.find(TICKET.key)


def _written(directory: Path) -> bytes:
    return b"".join(file.read_bytes() for file in directory.iterdir() if file.suffix != ".key")


async def test_nothing_of_a_call_is_readable_in_the_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.tickets.open(TICKET)
    await store.aclose()
    written = _written(tmp_path)
    assert b"elicitation/create" not in written
    assert b'"ticket"' not in written
    assert "st\u00e4te".encode() not in written
