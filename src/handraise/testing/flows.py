"""What every store promises of flows: URL questions that somebody finishes in a browser."""

from __future__ import annotations

from handraise.conversation.records import Flow
from handraise.conversation.store import Store
from handraise.testing.made_up import DEADLINE, NOW, fails


class FlowContract:
    """The part of a store's contract that is about flows."""

    async def test_a_flow_is_found_and_completed_by_its_own_person(self, store: Store) -> None:
        await store.open_flow(Flow("e1", "alice", DEADLINE))
        assert await store.find_flow("e1") == Flow("e1", "alice", DEADLINE)
        assert await store.complete_flow("e1", person="alice", now=NOW)
        assert await store.find_flow("e1") == Flow("e1", "alice", DEADLINE, completed=True)

    async def test_nobody_else_completes_a_flow(self, store: Store) -> None:
        await store.open_flow(Flow("e1", "alice", DEADLINE))
        for person in ("mallory", "", "Alice", "alice "):
            assert not await store.complete_flow("e1", person=person, now=NOW)
        assert await store.find_flow("e1") == Flow("e1", "alice", DEADLINE)

    async def test_an_unknown_flow_is_neither_found_nor_completed(self, store: Store) -> None:
        assert await store.find_flow("e1") is None
        assert not await store.complete_flow("e1", person="alice", now=NOW)

    async def test_a_flow_is_not_completed_at_or_after_its_deadline(self, store: Store) -> None:
        await store.open_flow(Flow("e1", "alice", DEADLINE))
        assert not await store.complete_flow("e1", person="alice", now=DEADLINE)
        assert await store.complete_flow("e1", person="alice", now=DEADLINE - 0.001)

    async def test_the_same_person_goes_on_with_a_flow(self, store: Store) -> None:
        await store.open_flow(Flow("e1", "alice", DEADLINE))
        await store.complete_flow("e1", person="alice", now=NOW)
        await store.open_flow(Flow("e1", "alice", DEADLINE + 100))
        await store.open_flow(Flow("e1", "alice", DEADLINE - 100))
        assert await store.find_flow("e1") == Flow("e1", "alice", DEADLINE + 100, completed=True)

    async def test_the_id_of_a_flow_is_taken_for_everybody_else(self, store: Store) -> None:
        await store.open_flow(Flow("e1", "alice", DEADLINE))
        assert await fails(store.open_flow(Flow("e1", "mallory", DEADLINE + 100)))
        assert await store.find_flow("e1") == Flow("e1", "alice", DEADLINE)
