"""Every store keeps the same contract."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.ledger.examples import fill

from handraise.calls import Store
from handraise.calls.ledger_tables import StoredContent
from handraise.calls.store import SharedStore, Tickets
from handraise.ledger import Ledger
from handraise.ledger.proof import LedgerKeys
from handraise.ledger.verify import LedgerVerdict
from handraise.stores import MemoryStore, SqliteStore
from handraise.stores.memory import MemoryLedger
from handraise.stores.postgres import PostgresStore
from handraise.testing import LedgerContract, SecretsContract, StoreContract, TicketsContract
from handraise.testing.part_contracts import ANSWERED, CHARGED, LONG_AFTER, a_round
from handraise.vault import SecretTable


class EveryContract(StoreContract, LedgerContract, SecretsContract, TicketsContract):
    """All contracts of a store. Subclass it with a fixture `store`."""

    @pytest.fixture
    def table(self, store: SharedStore) -> SecretTable:
        return store.secrets

    @pytest.fixture
    def tickets(self, store: SharedStore) -> Tickets:
        return store.tickets


@pytest.mark.shows("X1", "C3", "L11")
class TestMemoryStore(EveryContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        store = MemoryStore()
        yield store
        await store.aclose()


@pytest.mark.shows("X1", "C3", "L11")
class TestSqliteStore(EveryContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        store = SqliteStore(tmp_path / "store.db")
        yield store
        await store.aclose()


@pytest.mark.stranger
@pytest.mark.shows("X1", "C3", "L11")
class TestPostgresStore(EveryContract):
    @pytest.fixture
    async def store(self, url: str) -> AsyncIterator[Store]:
        store = PostgresStore(url, keys=[b"k" * 32])
        yield store
        await store.aclose()


def test_records_of_memory_go_with_the_process_and_those_of_a_file_stay(tmp_path: Path) -> None:
    assert not MemoryStore().durable
    assert SqliteStore(tmp_path / "store.db").durable


@pytest.mark.shows("G4")
@pytest.mark.parametrize(
    "change",
    [
        lambda tables: tables._rows.pop(3),
        lambda tables: tables._rows.update({3: tables._rows[4]}),
        lambda tables: tables._rows.update({99: tables._rows[4]}),
        lambda tables: tables._hashes.pop(),
        lambda tables: tables._hashes.reverse(),
        lambda tables: tables._notes.pop(),
        lambda tables: tables._notes.reverse(),
        lambda tables: tables._kept.popitem(),
        lambda tables: tables._kept.update({"c_0": (3, StoredContent("c_0", b"k" * 32, None))}),
        lambda tables: setattr(tables, "_stored", tables._stored._replace(notes=1)),
        lambda tables: setattr(tables, "_stored", None),
    ],
)
async def test_every_change_to_a_ledger_in_memory_is_found(change: Callable[[MemoryLedger], object]) -> None:
    store = MemoryStore()
    ledger = Ledger(store, keys=LedgerKeys(b"k" * 32), keeping="all")
    await fill(ledger, 3)
    await ledger.checkpoint()
    assert await ledger.erase(lambda number, _: number == 2) == (1, 1)
    assert (await ledger.verify()).verdict is LedgerVerdict.SOUND
    change(store.ledger)
    assert (await ledger.verify()).verdict is LedgerVerdict.BROKEN
    await ledger.store.aclose()


async def test_what_was_pruned_leaves_nothing_in_memory() -> None:
    store = MemoryStore()
    for token, number in (("hr1.first", 1), ("hr1.second", 2)):
        await store.open_round(a_round(token, number=number)._replace(journal=(CHARGED,)))
    await store.append(a_round().call_id, [ANSWERED])
    before = {name for name, value in vars(store).items() if isinstance(value, dict) and value}
    assert before == {"_rows", "_tokens", "_journals"}
    assert await store.prune(LONG_AFTER) == 2
    assert not any(value for value in vars(store).values() if isinstance(value, dict))
    await store.aclose()


async def test_the_journal_stays_as_long_as_one_of_its_rounds() -> None:
    store = MemoryStore()
    await store.open_round(a_round())
    later = a_round("hr1.second", number=2)._replace(journal=(CHARGED,), deadline=LONG_AFTER)
    await store.open_round(later)
    assert await store.prune(LONG_AFTER - 1) == 1
    assert await store.find_round("hr1.first") is None
    assert await store.find_round("hr1.second") == later
    await store.aclose()
