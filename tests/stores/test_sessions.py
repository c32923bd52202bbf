"""Legacy sessions are kept alike in every store, and what would betray or misdirect them is not to be read there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.postgres import PostgresServer

from handraise.conversation.sessions import Sessions
from handraise.errors import StoreError
from handraise.stores import MemoryStore, SqliteStore
from handraise.stores.postgres import PostgresStore
from handraise.testing import SessionsContract
from handraise.testing.sessions import ADDRESS, LETTER, NOW

pytestmark = pytest.mark.anyio


@pytest.mark.shows("X1")
class TestMemorySessions(SessionsContract):
    @pytest.fixture
    async def sessions(self) -> Sessions:
        return MemoryStore().sessions


@pytest.mark.shows("X1")
class TestSqliteSessions(SessionsContract):
    @pytest.fixture
    async def sessions(self, tmp_path: Path) -> AsyncIterator[Sessions]:
        store = SqliteStore(tmp_path / "store.db")
        yield store.sessions
        await store.aclose()


@pytest.mark.stranger
@pytest.mark.shows("X1")
class TestPostgresSessions(SessionsContract):
    @pytest.fixture
    async def sessions(self, postgres: PostgresServer) -> AsyncIterator[Sessions]:
        store = PostgresStore(postgres.new_database(), keys=[b"k" * 32])
        yield store.sessions
        await store.aclose()


def read_all(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def test_neither_session_ids_nor_addresses_nor_letters_are_to_be_read_in_the_file(
    tmp_path: Path,
) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.sessions.announce("one", ADDRESS, until=NOW)
    await store.sessions.enter("a-session-id", "one", until=NOW)
    await store.sessions.post(LETTER)
    await store.aclose()
    written = read_all(tmp_path)
    assert b"a-session-id" not in written
    assert b"10.0.0.5" not in written
    assert "Grüße".encode() not in written


async def test_an_address_that_was_moved_to_another_node_is_refused(tmp_path: Path) -> None:
    """Whoever can write to the file could have the requests of others, with their tokens, sent elsewhere."""
    store = SqliteStore(tmp_path / "store.db")
    for node in ("one", "two"):
        await store.sessions.announce(node, f"http://{node}", until=NOW + 60.0)
    await store.sessions.enter("s1", "one", until=NOW + 60.0)
    moved = "UPDATE hosts SET address = (SELECT address FROM hosts WHERE node = 'two') WHERE node = 'one'"
    await store._file.write(lambda db, _: db.execute(moved))
    with pytest.raises(StoreError, match="changed or moved"):
        await store.sessions.find("s1", now=NOW)
    await store.aclose()


async def test_the_address_of_a_node_that_is_gone_is_not_revived(tmp_path: Path) -> None:
    """Another machine may have that address by now, and would get the tokens of requests that are passed on."""
    store = SqliteStore(tmp_path / "store.db")
    await store.sessions.announce("one", ADDRESS, until=NOW)
    await store.sessions.enter("s1", "one", until=NOW + 60.0)
    await store._file.write(lambda db, _: db.execute("UPDATE hosts SET until = until + 60"))
    with pytest.raises(StoreError, match="changed or moved"):
        await store.sessions.find("s1", now=NOW)
    await store.aclose()


async def test_a_letter_is_not_prolonged(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.sessions.post(LETTER)
    await store._file.write(lambda db, _: db.execute("UPDATE letters SET until = until + 60"))
    with pytest.raises(StoreError, match="changed or moved"):
        await store.sessions.letters(LETTER.node)
    await store.aclose()


async def test_pruning_a_store_prunes_its_sessions(tmp_path: Path) -> None:
    for store in (MemoryStore(), SqliteStore(tmp_path / "store.db")):
        await store.sessions.announce("one", ADDRESS, until=NOW)
        assert await store.prune(NOW) == 1
        await store.aclose()
