"""The contract of a store's ledger tables, as tests for any implementation.

class TestMyLedger(LedgerContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        ...
"""

from __future__ import annotations

import asyncio

from handraise.calls.ledger_tables import LedgerTables, Record, StoredContent, StoredEvent
from handraise.calls.rounds import digest
from handraise.calls.store import CallBinding, Flow, Json, RoundOutcome, RoundUse, Store
from handraise.errors import StoreError
from handraise.ledger.ledger import Ledger
from handraise.ledger.proof import KeyedAuthenticator, LedgerKeys, Note, Tree, parse_notes, root_of, tree_of
from handraise.ledger.verify import LedgerVerdict, VerificationReport
from handraise.testing.part_contracts import ALICE, DEADLINE, MALLORY, NO, NOW, YES, a_round

_KEYS, _OTHER_KEYS = LedgerKeys(b"k" * 32), LedgerKeys(b"o" * 32)
_KEYED = KeyedAuthenticator(lambda: _KEYS)


def a_record(name: str = "one", *, open: bool = False, kept: bool = False) -> Record:
    """An example event. A store does not look into it."""
    contents = (StoredContent(f"c_{name}", name.encode().ljust(32), f"<{name}>".encode()),) if kept else ()
    return Record(f"q_{name}", name.encode(), open, contents)


def keyed(store: Store) -> LedgerTables:
    """The ledger's tables of a store, with a key."""
    store.ledger.attach(_KEYED)
    return store.ledger


async def verified(store: Store, *given: Note, keys: LedgerKeys = _KEYS) -> VerificationReport:
    """The verdict on the ledger in a store."""
    report = await Ledger(store, keys=keys).verify(given)
    keyed(store)
    return report


async def bodies(store: Store) -> list[bytes]:
    """The events in the store, in order."""
    return [row.body for row in await store.ledger.rows(0, 1000)]


class LedgerContract:
    """The contract of a store's ledger tables. Subclass it with a fixture `store`."""

    # Writing.

    async def test_events_are_read_in_the_order_in_which_they_were_written(self, store: Store) -> None:
        tables = keyed(store)
        await tables.record([a_record("one"), a_record("two")])
        await tables.record([])
        await tables.record([a_record("three")])
        every = [StoredEvent(1, b"one"), StoredEvent(2, b"two"), StoredEvent(3, b"three")]
        assert await tables.rows(0, 10) == every
        assert await tables.rows(1, 1) == every[1:2]
        assert await tables.rows_before(None, 2) == [every[2], every[1]]
        assert await tables.rows_before(3, 10) == [every[1], every[0]]

    async def test_events_written_at_once_are_all_there_once(self, store: Store) -> None:
        tables = keyed(store)
        await asyncio.gather(*(tables.record([a_record(str(at))]) for at in range(200)))
        rows = await tables.rows(0, 1000)
        assert [row.number for row in rows] == list(range(1, 201))
        assert {row.body for row in rows} == {str(at).encode() for at in range(200)}

    async def test_an_event_with_a_name_is_written_once_with_its_contents(self, store: Store) -> None:
        tables = keyed(store)
        used = a_record("used", kept=True)._replace(once="e_used")
        again = a_record("again", kept=True)._replace(once="e_used")
        await tables.record([a_record("asked"), used, again])
        await tables.record([again, a_record("other")])
        await asyncio.gather(*(tables.record([again]) for _ in range(10)))
        await store.open_round(a_round(), events=[again])
        every = [StoredEvent(1, b"asked"), StoredEvent(2, b"used"), StoredEvent(3, b"other")]
        assert await tables.rows(0, 10) == every
        assert list(await tables.contents(["c_used", "c_again"])) == ["c_used"]

    # Together with what they tell of.

    async def test_a_round_that_is_opened_has_its_events(self, store: Store) -> None:
        keyed(store)
        await store.open_round(a_round(), events=[a_record("asked")])
        assert await bodies(store) == [b"asked"]

    async def test_a_round_that_cannot_be_opened_has_none(self, store: Store) -> None:
        keyed(store)
        await store.open_round(a_round())
        try:
            await store.open_round(a_round(), events=[a_record("asked")])
        except StoreError:
            assert await bodies(store) == []
        else:
            raise AssertionError("a token was opened twice")

    async def test_only_the_first_use_of_a_round_writes_its_events(self, store: Store) -> None:
        keyed(store)

        async def use(
            answers: dict[str, Json], name: str, binding: CallBinding = ALICE, now: float = NOW
        ) -> None:
            given = RoundUse(binding, answers, digest(answers), now)
            await store.consume("hr1.first", given, events=[a_record(name)])

        await store.open_round(a_round())
        await use(YES, "not hers", binding=MALLORY)
        await use(YES, "too late", now=DEADLINE + 1)
        await use(YES, "first")
        await use(YES, "again")
        await use(NO, "other answers")
        assert await bodies(store) == [b"first"]

    async def test_of_many_who_use_a_round_at_once_one_writes_its_events(self, store: Store) -> None:
        keyed(store)
        await store.open_round(a_round())
        await asyncio.gather(
            *(
                store.consume("hr1.first", RoundUse(ALICE, YES, digest(YES), NOW), events=[a_record(str(at))])
                for at in range(20)
            )
        )
        assert len(await bodies(store)) == 1

    async def test_a_round_is_closed_with_its_events_unless_it_was_used(self, store: Store) -> None:
        keyed(store)
        await store.open_round(a_round())
        await store.open_round(a_round("hr1.used", call_id="c2"))
        await store.consume("hr1.used", RoundUse(ALICE, YES, digest(YES), NOW))
        assert await store.close_round("hr1.first", events=[a_record("expired")])
        assert not await store.close_round("hr1.used", events=[a_record("not expired")])
        assert await bodies(store) == [b"expired"]

    async def test_a_round_is_settled_with_its_events(self, store: Store) -> None:
        keyed(store)
        await store.open_round(a_round())
        await store.settle("hr1.first", RoundOutcome("result", {}), until=NOW, events=[a_record("used")])
        assert await bodies(store) == [b"used"]

    async def test_a_flow_is_completed_with_its_events_by_its_own_person(self, store: Store) -> None:
        keyed(store)
        await store.open_flow(Flow("e1", "alice", DEADLINE))
        await store.complete_flow("e1", person="mallory", now=NOW, events=[a_record("no")])
        assert await bodies(store) == []
        await store.complete_flow("e1", person="alice", now=NOW, events=[a_record("completed")])
        assert await bodies(store) == [b"completed"]

    # Places.

    async def test_events_get_their_places_in_order(self, store: Store) -> None:
        tables = keyed(store)
        await tables.record([a_record("a"), a_record("b"), a_record("c")])
        assert (await tables.place(1000)).size == await tables.size() == 3
        await tables.record([a_record("d")])
        head = await tables.place(1000)
        assert await tables.place(1000) == head
        hashes = await tables.hashes(0, 10)
        assert (len(hashes), root_of(hashes)) == (4, tree_of(head).root)
        assert await tables.hashes(2, 1) == hashes[2:3]

    async def test_who_gives_places_at_once_gives_each_once(self, store: Store) -> None:
        tables = keyed(store)
        await tables.record([a_record(str(at)) for at in range(100)])
        await asyncio.gather(*(tables.place(7) for _ in range(20)))
        assert (await tables.size(), len(await tables.hashes(0, 1000))) == (100, 100)
        assert (await verified(store)).verdict is LedgerVerdict.SOUND

    # Proof.

    async def test_notes_are_signed_numbered_and_chained(self, store: Store) -> None:
        tables = keyed(store)
        await tables.record([a_record()])
        await tables.place(1000)
        texts = [await tables.add_note(_KEYED.checkpoint(at)) for at in range(3)]
        assert await tables.notes() == texts
        notes = [note for text in texts for note in parse_notes(text)]
        assert [note.checkpoint.number for note in notes] == [1, 2, 3]
        assert [note.checkpoint.previous for note in notes[1:]] == [note.hash for note in notes[:-1]]
        assert all(map(_KEYS.verifier.signed, notes))

    async def test_a_ledger_is_sound_after_everything_that_may_happen_to_it(self, store: Store) -> None:
        tables = keyed(store)
        assert (await verified(store)).verdict is LedgerVerdict.UNPROVEN  # it is empty
        await tables.record([a_record(name, kept=True) for name in ("a", "b", "c", "d")])
        await tables.place(1000)
        kept = parse_notes(await tables.add_note(_KEYED.checkpoint(1)))
        assert (await verified(store, *kept)).verdict is LedgerVerdict.SOUND
        assert await tables.erase(["c_c"], _KEYED.erasure(2)) == 1
        assert await tables.cut(1, _KEYED.removal(3, Tree().grown(await tables.hashes(0, 1)))) == 1
        await tables.record([a_record("e", kept=True)])
        await tables.place(1000)
        report = await verified(store, *kept)
        assert (report.verdict, report.proven, report.removed, report.waiting) == (
            LedgerVerdict.SOUND,
            5,
            1,
            0,
        )

    async def test_a_ledger_of_another_key_is_broken_and_nobody_adds_to_it(self, store: Store) -> None:
        tables = keyed(store)
        await tables.record([a_record()])
        await tables.place(1000)
        assert (await verified(store, keys=_OTHER_KEYS)).verdict is LedgerVerdict.BROKEN
        tables.attach(KeyedAuthenticator(lambda: _OTHER_KEYS))
        try:
            await tables.record([a_record("forged")])
            await tables.place(1000)
        except StoreError:
            return
        raise AssertionError("somebody without the key added an event")

    async def test_a_checkpoint_of_another_ledger_is_found(self, store: Store) -> None:
        tables = keyed(store)
        await tables.record([a_record()])
        await tables.place(1000)
        _, foreign = KeyedAuthenticator(lambda: _OTHER_KEYS).checkpoint(1)(await tables.place(1000), ())
        _, unknown = _KEYED.checkpoint(1)(await tables.place(1000), ())  # ours, but never kept in the ledger
        for text in (foreign, unknown):
            assert (await verified(store, *parse_notes(text))).verdict is LedgerVerdict.BROKEN

    # Contents.

    async def test_contents_are_found_until_they_are_erased(self, store: Store) -> None:
        tables = keyed(store)
        one, two = a_record("one", kept=True), a_record("two", kept=True)
        await tables.record([one, two, a_record("three")])
        found = await tables.contents(["c_one", "c_two", "c_three"])
        assert found == {"c_one": one.kept[0], "c_two": two.kept[0]}
        assert await tables.erase(["c_one", "c_three"], _KEYED.erasure(1)) == 1
        assert await tables.erase(["c_one"], _KEYED.erasure(2)) == 0
        assert [note.checkpoint.names for note in parse_notes("".join(await tables.notes()))] == [("c_one",)]
        assert await tables.contents(["c_one", "c_two"]) == {"c_two": two.kept[0]}
        assert await bodies(store) == [b"one", b"two", b"three"]

    async def test_contents_of_which_only_the_hash_is_known_have_a_key(self, store: Store) -> None:
        tables = keyed(store)
        kept = StoredContent("c_1", b"k" * 32, None)
        await tables.record([a_record()._replace(kept=(kept,))])
        assert await tables.contents(["c_1"]) == {"c_1": kept}

    # Removing what is too old.

    async def test_events_are_removed_and_their_places_stay(self, store: Store) -> None:
        tables = keyed(store)
        await tables.record([a_record(name, kept=True) for name in ("a", "b", "c")])
        await tables.place(1000)
        hashes = await tables.hashes(0, 10)
        assert await tables.cut(2, _KEYED.removal(1, Tree().grown(hashes[:2]))) == 2
        assert await tables.rows(0, 10) == [StoredEvent(3, b"c")]
        assert await tables.hashes(0, 10) == hashes
        assert list(await tables.contents(["c_a", "c_b", "c_c"])) == ["c_c"]
        assert [note.checkpoint.word for note in parse_notes("".join(await tables.notes()))] == ["cut"]

    async def test_numbers_go_on_after_everything_was_removed(self, store: Store) -> None:
        tables = keyed(store)
        await tables.record([a_record("a")])
        await tables.place(1000)
        await tables.cut(1, _KEYED.removal(1, Tree().grown(await tables.hashes(0, 1))))
        await tables.record([a_record("b")])
        assert await tables.rows(0, 10) == [StoredEvent(2, b"b")]
        assert (await tables.place(1000)).size == 2

    # What was in flight.

    async def test_questions_of_a_process_that_lives_are_nobodys_orphans(self, store: Store) -> None:
        tables = keyed(store)
        await tables.record([a_record("asked", open=True)])
        assert await tables.settle_orphans(lambda body: a_record("ambiguous")) == 0
        assert await bodies(store) == [b"asked"]
