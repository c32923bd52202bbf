"""The contracts of a store's flows, parked calls and secrets, as tests for any implementation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from handraise.calls.rounds import digest
from handraise.calls.store import (
    NOT_SENT,
    CallBinding,
    ConsumeResult,
    Flow,
    JournalEntry,
    Json,
    RoundOutcome,
    RoundRecord,
    RoundUse,
    Store,
    Ticket,
    Tickets,
)
from handraise.errors import StoreError
from handraise.vault.vault import SealedSecret, SecretTable

NOW = 1_700_000_000.0
DEADLINE = NOW + 300.0
LONG_AFTER = NOW + 30 * 86_400.0

ALICE = CallBinding(
    '["token","https://issuer","alice"] app', "tools/call", "transfer", digest({"amount": 5}), "bank"
)
MALLORY = ALICE._replace(person='["token","https://issuer","mallory"] app')

QUESTION: Json = {"method": "elicitation/create", "params": {"mode": "form", "message": "Größe? 📏"}}
YES: dict[str, Json] = {"size": {"action": "accept", "content": {"size": 4.5, "tags": ["a", "b"]}}}
NO: dict[str, Json] = {"size": {"action": "decline"}}
RESULT = RoundOutcome("result", {"content": [{"type": "text", "text": "done ✓"}]})

ANSWERED = JournalEntry("answer", "name", "pin of name", {"action": "accept", "content": {"name": "Zoë"}})
CHARGED = JournalEntry("once", "charge", "", {"id": "ch_1", "cents": 500, "tags": [None, True]})


def a_round(token: str = "hr1.first", *, call_id: str = "c1", number: int = 1) -> RoundRecord:  # noqa: S107 - made up for tests
    """An example round."""
    return RoundRecord(
        token=token,
        call_id=call_id,
        number=number,
        binding=ALICE,
        deadline=DEADLINE,
        questions={"size": QUESTION},
        pins={"size": digest(QUESTION)},
        handler="shop:order",
        seed="q_7",
    )


async def consume(
    store: Store,
    token: str = "hr1.first",  # noqa: S107 - made up for tests
    answers: dict[str, Json] | None = None,
    *,
    binding: CallBinding = ALICE,
    now: float = NOW,
) -> ConsumeResult:
    """Consume a round with answers, as a retry does."""
    given = YES if answers is None else answers
    return await store.consume(token, RoundUse(binding, given, digest(given), now))


async def fails(work: Awaitable[object]) -> bool:
    """Whether some work ends with a `StoreError`."""
    try:
        await work
    except StoreError:
        return True
    return False


class FlowContract:
    """The contract of flows."""

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


ROUND: Json = {"inputRequests": {"q": {"method": "elicitation/create"}}, "requestState": "stäte ✓"}
CALL: Json = {"method": "tools/call", "params": {"name": "x", "arguments": {"größe": 4.5}}, "ticket": "t"}
TICKET = Ticket("k", "ada", "notes", "one", 100.0, CALL, ROUND)
RESPONSE: Json = {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}


class TicketsContract:
    """The contract of parked calls. Subclass it with a fixture `tickets`."""

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
        await tickets.settle("k", RESPONSE, until=200.0)
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
        await tickets.settle("k", RESPONSE, until=200.0)
        found = await tickets.find("k")
        assert found == TICKET._replace(deadline=200.0, call=None, round=None, outcome=RESPONSE)
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
        await tickets.settle("k", RESPONSE, until=200.0)
        assert not await tickets.send("k", holder="one")
        assert not await tickets.take("k", was="one", holder="two")
        assert await tickets.find("k") is None


ANN, BOB = '["token","https://issuer","ann"]', '["token","https://issuer","bob"]'
HERS = SealedSecret("row 1", ANN, "github", b"\x00wrapped\xff", b"\x00sealed\xff", 1_700_000_000.25, None)
HIS = HERS._replace(row="row 2", owner=BOB, until=1_700_003_600.5)


class SecretsContract:
    """The contract of a vault's table. Subclass it with a fixture `table`."""

    async def test_a_secret_is_found_as_it_was_put_by_its_owner_and_service(self, table: SecretTable) -> None:
        await table.put(HERS)
        await table.put(HIS)
        assert await table.find(ANN, "github") == HERS
        assert await table.find(BOB, "github") == HIS
        assert await table.find(ANN, "gitlab") is None
        assert await table.find("", "github") is None

    async def test_another_one_takes_the_place_of_what_was_there(self, table: SecretTable) -> None:
        await table.put(HERS)
        newer = HERS._replace(row="row 3", sealed=b"newer", until=5.0)
        await table.put(newer)
        assert await table.all() == [newer]

    async def test_everything_is_listed_by_owner_and_service(self, table: SecretTable) -> None:
        other = HERS._replace(row="row 4", service="aws")
        for secret in (HIS, HERS, other):
            await table.put(secret)
        assert await table.all() == [other, HERS, HIS]
        assert await table.all(BOB) == [HIS]
        assert await table.all("nobody") == []

    async def test_removing_removes_one_once(self, table: SecretTable) -> None:
        await table.put(HERS)
        await table.put(HIS)
        assert await table.remove(ANN, "github")
        assert not await table.remove(ANN, "github")
        assert await table.all() == [HIS]

    async def test_purging_leaves_what_is_kept_and_tells_what_is_left_of_the_rest(
        self, table: SecretTable
    ) -> None:
        await table.put(HERS)
        await table.put(HIS)
        await table.remove(ANN, "github")
        left = await table.purge()
        assert left is None or (left.where and not left.again)
        assert await table.all() == [HIS]

    async def test_a_row_is_wrapped_anew_only_while_it_is_as_it_was_seen(self, table: SecretTable) -> None:
        await table.put(HERS)
        assert await table.rewrap(HERS.row, was=HERS.wrapped, wrapped=b"new")
        assert not await table.rewrap(HERS.row, was=HERS.wrapped, wrapped=b"late")
        assert not await table.rewrap("no row", was=b"new", wrapped=b"late")
        assert await table.find(ANN, "github") == HERS._replace(wrapped=b"new")
