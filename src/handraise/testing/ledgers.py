"""The contract of a store's ledger tables, as tests that any implementation can be put through.

class TestMyLedger(LedgerContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        ...
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import sha256

from handraise.conversation.digest import Written
from handraise.conversation.recorded import Kept, Leaf, Record, Row, TreeState
from handraise.conversation.records import Flow, Outcome
from handraise.conversation.store import Store
from handraise.errors import StoreError
from handraise.testing.made_up import ALICE, DEADLINE, MALLORY, NO, NOW, YES, a_round


def a_record(name: str = "one", *, open: bool = False, kept: bool = False) -> Record:
    """An event as a ledger would write it, for a store that does not look into it."""
    contents = (Kept(f"c_{name}", name.encode().ljust(32), f"<{name}>".encode()),) if kept else ()
    return Record(f"q_{name}", name.encode(), open, contents)


def grow(tree: TreeState, bodies: Sequence[bytes]) -> tuple[TreeState, list[bytes]]:
    """A tree that is simple enough to be foreseen."""
    return TreeState(tree.size + len(bodies), tree.peaks + b"".join(bodies)), [
        sha256(body).digest() for body in bodies
    ]


def leaf(number: int, name: str, *, there: bool = True) -> Leaf:
    """The place of an event in that tree."""
    return Leaf(number, sha256(name.encode()).digest(), name.encode() if there else None)


async def bodies(store: Store) -> list[bytes]:
    """The events in the store, in order."""
    return [row.body for row in await store.ledger.rows(0, 1000)]


class LedgerContract:
    """What the ledger's tables of every store promise. Subclass it, and give it a fixture `store`."""

    # Writing.

    async def test_events_are_read_in_the_order_in_which_they_were_written(self, store: Store) -> None:
        await store.ledger.record([a_record("one"), a_record("two")])
        await store.ledger.record([])
        await store.ledger.record([a_record("three")])
        every = [Row(1, b"one"), Row(2, b"two"), Row(3, b"three")]
        assert await store.ledger.rows(0, 10) == every
        assert await store.ledger.rows(1, 1) == every[1:2]
        assert await store.ledger.rows_before(None, 2) == [every[2], every[1]]
        assert await store.ledger.rows_before(3, 10) == [every[1], every[0]]

    async def test_events_written_at_once_are_all_there_once(self, store: Store) -> None:
        await asyncio.gather(*(store.ledger.record([a_record(str(at))]) for at in range(200)))
        rows = await store.ledger.rows(0, 1000)
        assert [row.number for row in rows] == list(range(1, 201))
        assert {row.body for row in rows} == {str(at).encode() for at in range(200)}

    async def test_an_event_with_a_name_is_written_once_with_its_contents(self, store: Store) -> None:
        used = a_record("used", kept=True)._replace(once="e_used")
        again = a_record("again", kept=True)._replace(once="e_used")
        await store.ledger.record([a_record("asked"), used, again])
        await store.ledger.record([again, a_record("other")])
        await asyncio.gather(*(store.ledger.record([again]) for _ in range(10)))
        await store.open_round(a_round(), events=[again])
        every = [Row(1, b"asked"), Row(2, b"used"), Row(3, b"other")]
        assert await store.ledger.rows(0, 10) == every
        assert list(await store.ledger.contents(["c_used", "c_again"])) == ["c_used"]

    # Together with what they tell of.

    async def test_a_round_that_is_opened_has_its_events(self, store: Store) -> None:
        await store.open_round(a_round(), events=[a_record("asked")])
        assert await bodies(store) == [b"asked"]

    async def test_a_round_that_cannot_be_opened_has_none(self, store: Store) -> None:
        await store.open_round(a_round())
        try:
            await store.open_round(a_round(), events=[a_record("asked")])
        except StoreError:
            assert await bodies(store) == []
        else:
            raise AssertionError("a token was opened twice")

    async def test_only_the_first_use_of_a_round_writes_its_events(self, store: Store) -> None:
        async def use(answers: dict[str, object], name: str, **more: object) -> None:
            given = {"binding": ALICE, "now": NOW, **more}
            await store.consume(
                "hr1.first",
                answers=answers,
                said=Written.of(answers),
                events=[a_record(name)],
                **given,  # type: ignore[arg-type]
            )

        await store.open_round(a_round())
        await use(YES, "not hers", binding=MALLORY)
        await use(YES, "too late", now=DEADLINE + 1)
        await use(YES, "first")
        await use(YES, "again")
        await use(NO, "other answers")
        assert await bodies(store) == [b"first"]

    async def test_of_many_who_use_a_round_at_once_one_writes_its_events(self, store: Store) -> None:
        await store.open_round(a_round())
        await asyncio.gather(
            *(
                store.consume(
                    "hr1.first",
                    binding=ALICE,
                    answers=YES,
                    said=Written.of(YES),
                    now=NOW,
                    events=[a_record(str(at))],
                )
                for at in range(20)
            )
        )
        assert len(await bodies(store)) == 1

    async def test_a_round_is_closed_with_its_events_unless_it_was_used(self, store: Store) -> None:
        await store.open_round(a_round())
        await store.open_round(a_round("hr1.used", conversation="c2"))
        await store.consume("hr1.used", binding=ALICE, answers=YES, said=Written.of(YES), now=NOW)
        assert await store.close_round("hr1.first", events=[a_record("expired")])
        assert not await store.close_round("hr1.used", events=[a_record("not expired")])
        assert await bodies(store) == [b"expired"]

    async def test_a_round_is_settled_with_its_events(self, store: Store) -> None:
        await store.open_round(a_round())
        await store.settle("hr1.first", Outcome("result", {}), until=NOW, events=[a_record("used")])
        assert await bodies(store) == [b"used"]

    async def test_a_flow_is_completed_with_its_events_by_its_own_person(self, store: Store) -> None:
        await store.open_flow(Flow("e1", "alice", DEADLINE))
        await store.complete_flow("e1", person="mallory", now=NOW, events=[a_record("no")])
        assert await bodies(store) == []
        await store.complete_flow("e1", person="alice", now=NOW, events=[a_record("completed")])
        assert await bodies(store) == [b"completed"]

    # Places.

    async def test_events_get_their_places_afterwards_and_in_order(self, store: Store) -> None:
        await store.ledger.record([a_record("a"), a_record("b"), a_record("c")])
        assert await store.ledger.tree() == TreeState(0, b"")
        assert await store.ledger.leaves(0, 10) == []
        assert await store.ledger.place(grow, 2) == TreeState(2, b"ab")
        await store.ledger.record([a_record("d")])
        assert await store.ledger.place(grow, 10) == TreeState(4, b"abcd")
        assert await store.ledger.place(grow, 10) == await store.ledger.tree() == TreeState(4, b"abcd")
        every = [leaf(1, "a"), leaf(2, "b"), leaf(3, "c"), leaf(4, "d")]
        assert await store.ledger.leaves(0, 10) == every
        assert await store.ledger.leaves(2, 1) == every[2:3]

    async def test_who_gives_places_at_once_gives_each_once(self, store: Store) -> None:
        await store.ledger.record([a_record(str(at)) for at in range(100)])
        await asyncio.gather(*(store.ledger.place(grow, 7) for _ in range(20)))
        assert (await store.ledger.tree()).peaks == b"".join(str(at).encode() for at in range(100))

    # Notes.

    async def test_notes_are_kept_in_order(self, store: Store) -> None:
        for note in ("one\n", "two\n"):
            await store.ledger.add_note(note)
        assert await store.ledger.notes() == ["one\n", "two\n"]

    # Contents.

    async def test_contents_are_found_until_they_are_erased(self, store: Store) -> None:
        one, two = a_record("one", kept=True), a_record("two", kept=True)
        await store.ledger.record([one, two, a_record("three")])
        found = await store.ledger.contents(["c_one", "c_two", "c_three"])
        assert found == {"c_one": one.kept[0], "c_two": two.kept[0]}
        assert await store.ledger.erase(["c_one", "c_three"]) == 1
        assert await store.ledger.erase(["c_one"]) == 0
        assert await store.ledger.contents(["c_one", "c_two"]) == {"c_two": two.kept[0]}
        assert await bodies(store) == [b"one", b"two", b"three"]

    async def test_contents_of_which_only_the_hash_is_known_have_a_key(self, store: Store) -> None:
        kept = Kept("c_1", b"k" * 32, None)
        await store.ledger.record([a_record()._replace(kept=(kept,))])
        assert await store.ledger.contents(["c_1"]) == {"c_1": kept}

    # Removing what is too old.

    async def test_events_are_removed_and_their_places_stay(self, store: Store) -> None:
        await store.ledger.record([a_record(name, kept=True) for name in ("a", "b", "c")])
        await store.ledger.place(grow, 10)
        assert await store.ledger.cut(2, "the note") == 2
        assert await store.ledger.rows(0, 10) == [Row(3, b"c")]
        places = [leaf(1, "a", there=False), leaf(2, "b", there=False), leaf(3, "c")]
        assert await store.ledger.leaves(0, 10) == places
        assert list(await store.ledger.contents(["c_a", "c_b", "c_c"])) == ["c_c"]
        assert await store.ledger.notes() == ["the note"]

    async def test_events_without_a_place_are_not_removed(self, store: Store) -> None:
        await store.ledger.record([a_record("a"), a_record("b")])
        await store.ledger.place(grow, 1)
        assert await store.ledger.cut(2, "the note") == 1
        assert await store.ledger.rows(0, 10) == [Row(2, b"b")]

    async def test_numbers_go_on_after_everything_was_removed(self, store: Store) -> None:
        await store.ledger.record([a_record("a")])
        await store.ledger.place(grow, 10)
        await store.ledger.cut(1, "the note")
        await store.ledger.record([a_record("b")])
        assert await store.ledger.rows(0, 10) == [Row(2, b"b")]
        assert (await store.ledger.place(grow, 10)).size == 2

    # What was in flight.

    async def test_questions_of_a_process_that_lives_are_nobodys_orphans(self, store: Store) -> None:
        await store.ledger.record([a_record("asked", open=True)])
        assert await store.ledger.settle_orphans(lambda body: a_record("ambiguous")) == 0
        assert await bodies(store) == [b"asked"]
