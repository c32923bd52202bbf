"""The contract of a store for parked calls, as tests that any implementation can be put through.

    class TestMyTickets(TicketsContract):
        @pytest.fixture
        async def tickets(self) -> AsyncIterator[Tickets]:
            store = MyStore(...)
            yield store.tickets
            await store.aclose()

The tests are coroutines, and each one gets a fresh, empty store, as with `StoreContract`.
"""

from __future__ import annotations

import asyncio

from handraise.conversation.records import Json
from handraise.conversation.tickets import NOT_SENT, Ticket, Tickets

ROUND: Json = {"inputRequests": {"q": {"method": "elicitation/create"}}, "requestState": "stäte ✓"}
CALL: Json = {"method": "tools/call", "params": {"name": "x", "arguments": {"größe": 4.5}}, "ticket": "t"}
TICKET = Ticket("k", "ada", "notes", "one", 100.0, CALL, ROUND)
RESULT: Json = {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}


class TicketsContract:
    """What every store of parked calls promises. Subclass it, and give it a fixture `tickets`."""

    async def test_a_call_is_found_as_it_was_opened(self, tickets: Tickets) -> None:
        for round in (ROUND, NOT_SENT, None):
            await tickets.open(TICKET._replace(key=f"k {round}", round=round))
            assert await tickets.find(f"k {round}") == TICKET._replace(key=f"k {round}", round=round)
        assert await tickets.find("other") is None

    async def test_what_waits_for_a_person_is_found_without_its_key(self, tickets: Tickets) -> None:
        other = TICKET._replace(key="other", server="files", call={"method": "tools/call"}, round=None)
        for each in (TICKET, other, TICKET._replace(key="bobs", person="bob")):
            await tickets.open(each)
        assert sorted(await tickets.waiting("ada")) == [TICKET, other]
        assert await tickets.waiting("eve") == []

    async def test_what_ended_does_not_wait(self, tickets: Tickets) -> None:
        await tickets.open(TICKET)
        await tickets.settle("k", RESULT, until=200.0)
        assert await tickets.waiting("ada") == []

    async def test_one_process_takes_a_call_over(self, tickets: Tickets) -> None:
        await tickets.open(TICKET)
        names = [f"process {number}" for number in range(20)]
        taken = await asyncio.gather(*(tickets.take("k", was="one", holder=name) for name in names))
        assert taken.count(True) == 1
        (holder,) = (name for name, got in zip(names, taken, strict=True) if got)
        assert not await tickets.send("k", holder="one")
        assert await tickets.send("k", holder=holder)
        assert [ticket.holder for ticket in await tickets.waiting("ada")] == [holder]

    async def test_what_was_sent_is_not_taken_over(self, tickets: Tickets) -> None:
        await tickets.open(TICKET)
        assert await tickets.send("k", holder="one")
        assert not await tickets.take("k", was="one", holder="two")
        assert (await tickets.waiting("ada"))[0].sent

    async def test_what_is_asked_next_can_be_taken_over_again(self, tickets: Tickets) -> None:
        await tickets.open(TICKET)
        await tickets.send("k", holder="one")
        await tickets.ask("k", {"requestState": "next"})
        assert await tickets.take("k", was="one", holder="two")
        assert await tickets.find("k") == TICKET._replace(holder="two", round={"requestState": "next"})

    async def test_the_outcome_is_kept_for_a_while_and_the_call_forgotten(self, tickets: Tickets) -> None:
        await tickets.open(TICKET)
        await tickets.settle("k", RESULT, until=200.0)
        found = await tickets.find("k")
        assert found == TICKET._replace(deadline=200.0, call=None, round=None, outcome=RESULT)
        assert not await tickets.take("k", was="one", holder="two")
        assert await tickets.prune(199.0) == 0
        assert await tickets.prune(200.0) == 1
        assert await tickets.find("k") is None

    async def test_who_is_there_is_told_from_who_is_not(self, tickets: Tickets) -> None:
        here = await tickets.enter()
        assert await tickets.gone({here, "nobody"}) == {"nobody"}
        assert await tickets.gone(set()) == set()

    async def test_what_nobody_knows_changes_nothing(self, tickets: Tickets) -> None:
        await tickets.ask("k", ROUND)
        await tickets.settle("k", RESULT, until=200.0)
        assert not await tickets.send("k", holder="one")
        assert not await tickets.take("k", was="one", holder="two")
        assert await tickets.find("k") is None
