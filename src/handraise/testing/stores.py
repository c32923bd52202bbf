"""The contract of a store, as tests for any implementation.

    class TestMyStore(StoreContract):
        @pytest.fixture
        async def store(self) -> AsyncIterator[Store]:
            store = MyStore(...)
            yield store
            await store.aclose()

The tests are coroutines; run them with anyio's or asyncio's plugin for pytest. Each one gets a fresh, empty store.
Times are invented: a store never uses its own clock.
"""

from __future__ import annotations

import asyncio

from handraise.calls.rounds import digest
from handraise.calls.store import ConsumeResult, Flow, JournalEntry, RoundOutcome, Store
from handraise.testing.part_contracts import (
    ALICE,
    ANSWERED,
    CHARGED,
    DEADLINE,
    LONG_AFTER,
    MALLORY,
    NO,
    NOW,
    QUESTION,
    RESULT,
    YES,
    FlowContract,
    a_round,
    consume,
    fails,
)


class StoreContract(FlowContract):
    """The contract of a store. Subclass it with a fixture `store`."""

    async def test_a_store_is_opened_more_than_once_and_tells_the_time(self, store: Store) -> None:
        await asyncio.gather(store.open(), store.open())
        before = store.now()
        await store.open()
        assert before <= store.now()

    # Rounds.

    async def test_a_round_is_found_as_it_was_opened(self, store: Store) -> None:
        await store.open_round(a_round())
        assert await store.find_round("hr1.first") == a_round()

    async def test_a_round_without_a_handler_is_found_without_one(self, store: Store) -> None:
        await store.open_round(a_round()._replace(handler=None, pins={}))
        assert await store.find_round("hr1.first") == a_round()._replace(handler=None, pins={})

    async def test_an_unknown_token_is_not_found(self, store: Store) -> None:
        await store.open_round(a_round())
        for token in ("hr1.other", "", "hr1.firs", "hr1.first ", "HR1.FIRST", "%", "hr1.first\0", "hr1.Ω"):
            assert await store.find_round(token) is None
            assert (await consume(store, token)).verdict == "refused"

    async def test_a_token_is_opened_once(self, store: Store) -> None:
        await store.open_round(a_round())
        other = a_round(call_id="c2")._replace(binding=MALLORY, questions={})
        assert await fails(store.open_round(other))
        assert await store.find_round("hr1.first") == a_round()

    # Using a round.

    async def test_the_first_retry_consumes_the_round(self, store: Store) -> None:
        await store.open_round(a_round())
        assert await consume(store) == ConsumeResult("first", since=NOW)

    async def test_the_same_answers_again_consume_nothing(self, store: Store) -> None:
        await store.open_round(a_round())
        await consume(store)
        assert await consume(store, now=NOW + 1) == ConsumeResult("again", since=NOW)

    async def test_the_order_in_which_answers_are_written_says_nothing(self, store: Store) -> None:
        await store.open_round(a_round())
        await consume(store)
        backwards = {"size": {key: YES["size"][key] for key in reversed(YES["size"])}}
        assert (await consume(store, answers=backwards)).verdict == "again"

    async def test_other_answers_are_refused_once_the_round_is_used(self, store: Store) -> None:
        await store.open_round(a_round())
        await consume(store)
        for answers in (NO, {}, {**YES, "more": 1}):
            assert (await consume(store, answers=answers)).verdict == "refused"
        assert (await consume(store)).verdict == "again"

    async def test_the_outcome_of_a_round_is_given_again(self, store: Store) -> None:
        await store.open_round(a_round())
        await consume(store)
        await store.settle("hr1.first", RESULT, until=NOW + 60)
        assert await consume(store) == ConsumeResult("again", outcome=RESULT, since=NOW)
        assert (await consume(store, answers=NO)).outcome is None

    async def test_the_last_outcome_ends_the_call(self, store: Store) -> None:
        await store.open_round(a_round())
        await consume(store)
        await store.settle("hr1.first", RoundOutcome("round", {}), until=NOW + 60)
        await store.open_round(a_round("hr1.second", number=2))
        await consume(store, "hr1.second")
        await store.append("c1", [JournalEntry("once", "step", "", 1)])
        await store.settle("hr1.second", RESULT, until=NOW + 90, ends="c1")
        assert (await consume(store)).outcome == RoundOutcome("round", {})
        assert (await consume(store, "hr1.second")).outcome == RESULT
        for token in ("hr1.first", "hr1.second"):
            found = await store.find_round(token)
            assert found is not None
            assert (found.questions, found.journal) == ({}, ())
        await store.prune(NOW + 89)
        assert await store.find_round("hr1.first") is not None
        await store.prune(NOW + 90)
        assert await store.find_round("hr1.first") is None

    async def test_an_outcome_of_every_kind_is_kept(self, store: Store) -> None:
        outcomes = [
            RESULT,
            RoundOutcome("error", {"code": -32603, "message": "no"}),
            RoundOutcome("round", {"inputRequests": {}}),
        ]
        for at, outcome in enumerate(outcomes):
            await store.open_round(a_round(f"hr1.{at}", call_id=f"c{at}"))
            await consume(store, f"hr1.{at}")
            await store.settle(f"hr1.{at}", outcome, until=NOW + 60)
            assert (await consume(store, f"hr1.{at}")).outcome == outcome

    async def test_the_same_answers_get_the_outcome_after_the_deadline_too(self, store: Store) -> None:
        await store.open_round(a_round())
        await consume(store)
        assert (await consume(store, now=DEADLINE + 1)).verdict == "again"
        await store.settle("hr1.first", RESULT, until=DEADLINE + 60)
        assert (await consume(store, now=DEADLINE + 1)).outcome == RESULT

    async def test_a_round_is_not_consumed_at_or_after_its_deadline(self, store: Store) -> None:
        await store.open_round(a_round())
        assert (await consume(store, now=DEADLINE)).verdict == "refused"
        assert (await consume(store, now=DEADLINE + 1)).verdict == "refused"
        assert (await consume(store, now=DEADLINE - 0.001)).verdict == "first"

    async def test_the_outcome_of_a_round_that_nobody_answered_is_given_to_its_owner(
        self, store: Store
    ) -> None:
        await store.open_round(a_round())
        await store.settle("hr1.first", RESULT, until=DEADLINE + 60)
        late = await consume(store, now=DEADLINE + 1)
        assert (late.verdict, late.outcome) == ("again", RESULT)
        assert (await consume(store, binding=MALLORY, now=DEADLINE + 1)).outcome is None

    async def test_settling_an_unknown_round_changes_nothing(self, store: Store) -> None:
        await store.settle("hr1.gone", RESULT, until=NOW)
        assert await store.find_round("hr1.gone") is None

    async def test_of_fifty_retries_at_once_one_consumes(self, store: Store) -> None:
        await store.open_round(a_round())
        taken = await asyncio.gather(*(consume(store) for _ in range(50)))
        verdicts = [consumption.verdict for consumption in taken]
        assert sorted(verdicts) == ["again"] * 49 + ["first"]

    async def test_of_fifty_different_retries_at_once_one_consumes_and_its_answers_are_kept(
        self, store: Store
    ) -> None:
        await store.open_round(a_round())
        answers = [{"size": {"action": "accept", "content": {"size": at}}} for at in range(50)]
        taken = await asyncio.gather(*(consume(store, answers=given) for given in answers))
        [winner] = [at for at, consumption in enumerate(taken) if consumption.verdict == "first"]
        assert {c.verdict for at, c in enumerate(taken) if at != winner} == {"refused"}
        assert (await consume(store, answers=answers[winner])).verdict == "again"
        found = await store.find_round("hr1.first")
        assert found is not None
        assert found.journal[-1].value == answers[winner]["size"]

    # Whose it is.

    async def test_a_retry_that_differs_in_anything_is_refused_and_changes_nothing(
        self, store: Store
    ) -> None:
        await store.open_round(a_round())
        strangers = [
            MALLORY,
            ALICE._replace(person=ALICE.person + " "),
            ALICE._replace(person=""),
            ALICE._replace(method="prompts/get"),
            ALICE._replace(target="Transfer"),
            ALICE._replace(arguments=digest({"amount": 6})),
            ALICE._replace(server="Bank"),
            ALICE._replace(server=""),
        ]
        for stranger in strangers:
            assert (await consume(store, binding=stranger)).verdict == "refused"
        assert (await consume(store)).verdict == "first"

    async def test_the_owner_is_checked_before_the_deadline_and_before_the_use(self, store: Store) -> None:
        await store.open_round(a_round())
        foreign = (await consume(store, binding=MALLORY)).reason
        assert (await consume(store, binding=MALLORY, now=DEADLINE + 1)).reason == foreign
        await consume(store)
        assert (await consume(store, answers=NO, binding=MALLORY)).reason == foreign
        await store.settle("hr1.first", RESULT, until=NOW + 60)
        used = await consume(store, binding=MALLORY)
        assert (used.verdict, used.reason, used.outcome) == ("refused", foreign, None)

    # Closing a round whose time is over.

    async def test_a_round_that_nobody_answered_is_closed(self, store: Store) -> None:
        await store.open_round(a_round())
        assert await store.close_round("hr1.first")
        assert await store.pending() == []

    async def test_a_closed_round_is_not_consumed_whatever_the_clock_of_the_retry_says(
        self, store: Store
    ) -> None:
        await store.open_round(a_round())
        await store.close_round("hr1.first")
        assert (await consume(store, now=NOW)).verdict == "refused"

    async def test_a_round_that_was_answered_is_not_closed(self, store: Store) -> None:
        await store.open_round(a_round())
        await consume(store)
        assert not await store.close_round("hr1.first")
        assert (await consume(store)).verdict == "again"

    async def test_an_unknown_round_is_not_closed(self, store: Store) -> None:
        assert not await store.close_round("hr1.gone")

    async def test_closing_and_answering_at_once_one_wins(self, store: Store) -> None:
        for at in range(20):
            token = f"hr1.{at}"
            await store.open_round(a_round(token, call_id=f"c{at}"))
            work = [consume(store, token), store.close_round(token)]
            taken, closed = await asyncio.gather(*(work if at % 2 else reversed(work)))
            if isinstance(taken, bool):
                taken, closed = closed, taken
            assert isinstance(taken, ConsumeResult)
            assert (taken.verdict == "first") is not closed

    # Going on with a round whose process is gone.

    async def test_one_of_all_who_wait_goes_on_with_a_round(self, store: Store) -> None:
        await store.open_round(a_round())
        await consume(store)
        held = await asyncio.gather(
            *(store.hold_round("hr1.first", since=NOW, now=NOW + 30 + at) for at in range(20))
        )
        assert sorted(held) == [False] * 19 + [True]
        assert (await consume(store)).since == NOW + 30 + held.index(True)

    async def test_whoever_holds_a_round_may_hold_it_on(self, store: Store) -> None:
        await store.open_round(a_round())
        await consume(store)
        assert await store.hold_round("hr1.first", since=NOW, now=NOW + 10)
        assert await store.hold_round("hr1.first", since=NOW + 10, now=NOW + 20)
        assert not await store.hold_round("hr1.first", since=NOW + 10, now=NOW + 30)

    async def test_a_round_that_nobody_answered_or_that_went_on_is_not_held(self, store: Store) -> None:
        assert not await store.hold_round("hr1.first", since=0.0, now=NOW)
        await store.open_round(a_round())
        assert not await store.hold_round("hr1.first", since=0.0, now=NOW)
        await consume(store)
        await store.settle("hr1.first", RESULT, until=NOW + 60)
        assert not await store.hold_round("hr1.first", since=NOW, now=NOW + 30)

    # The journal.

    async def test_the_journal_comes_in_order_and_then_the_answers_of_the_round(self, store: Store) -> None:
        await store.open_round(a_round()._replace(journal=(CHARGED, ANSWERED)))
        later = [JournalEntry("once", f"step {at}", "", at) for at in range(12)]
        await store.append("c1", later[:1])
        await store.append("c1", later[1:])
        await consume(store)
        found = await store.find_round("hr1.first")
        assert found is not None
        answer = JournalEntry("answer", "size", digest(QUESTION), YES["size"])
        assert found.journal == (CHARGED, ANSWERED, *later, answer)

    async def test_answers_that_nobody_asked_for_a_pin_have_none(self, store: Store) -> None:
        await store.open_round(a_round()._replace(pins={}))
        await consume(store)
        found = await store.find_round("hr1.first")
        assert found is not None
        assert found.journal == (JournalEntry("answer", "size", "", YES["size"]),)

    async def test_every_round_brings_the_whole_journal(self, store: Store) -> None:
        await store.open_round(a_round()._replace(journal=(CHARGED,)))
        await consume(store)
        await store.append("c1", [JournalEntry("once", "dropped by the body", "", 1)])
        second = a_round("hr1.second", number=2)._replace(journal=(CHARGED, ANSWERED))
        await store.open_round(second)
        assert await store.find_round("hr1.second") == second
        await store.open_round(a_round("hr1.third", number=3))
        assert await store.find_round("hr1.third") == a_round("hr1.third", number=3)

    async def test_an_answer_is_not_told_twice_when_the_next_round_is_there(self, store: Store) -> None:
        await store.open_round(a_round())
        await consume(store)
        answer = JournalEntry("answer", "size", digest(QUESTION), YES["size"])
        await store.open_round(a_round("hr1.second", number=2)._replace(journal=(answer, CHARGED)))
        found = await store.find_round("hr1.first")
        assert found is not None
        assert found.journal == (answer, CHARGED)

    async def test_journals_of_two_calls_stay_apart(self, store: Store) -> None:
        await store.open_round(a_round()._replace(journal=(CHARGED,)))
        await store.open_round(a_round("hr1.other", call_id="c2"))
        await store.append("c2", [ANSWERED])
        one, two = await store.find_round("hr1.first"), await store.find_round("hr1.other")
        assert one is not None
        assert two is not None
        assert (one.journal, two.journal) == ((CHARGED,), (ANSWERED,))

    async def test_steps_written_at_once_are_all_kept(self, store: Store) -> None:
        await store.open_round(a_round())
        steps = [JournalEntry("once", f"step {at}", "", at) for at in range(30)]
        await asyncio.gather(*(store.append("c1", [step]) for step in steps))
        found = await store.find_round("hr1.first")
        assert found is not None
        assert sorted(found.journal, key=lambda entry: entry.value) == steps

    # The end of a call.

    async def test_the_end_forgets_contents_at_once(self, store: Store) -> None:
        await store.open_round(a_round()._replace(journal=(CHARGED,)))
        await consume(store)
        await store.open_round(a_round("hr1.second", number=2)._replace(journal=(CHARGED, ANSWERED)))
        await store.append("c1", [ANSWERED])
        await store.end("c1", until=NOW + 60)
        for token in ("hr1.first", "hr1.second"):
            found = await store.find_round(token)
            assert found is not None
            assert (found.questions, found.pins, found.journal) == ({}, {}, ())
        assert await store.pending() == []

    async def test_the_end_keeps_the_outcomes_for_late_retries_until_their_time(self, store: Store) -> None:
        await store.open_round(a_round())
        await consume(store)
        await store.settle("hr1.first", RESULT, until=NOW + 60)
        await store.end("c1", until=NOW + 60)
        assert await consume(store) == ConsumeResult("again", outcome=RESULT, since=NOW)
        assert (await consume(store, answers=NO)).verdict == "refused"
        assert await store.prune(NOW + 59) == 0
        assert await store.prune(NOW + 60) == 1
        assert (await consume(store)).verdict == "refused"
        assert await store.find_round("hr1.first") is None

    async def test_nobody_answers_a_call_that_is_over(self, store: Store) -> None:
        await store.open_round(a_round())
        await store.end("c1", until=NOW + 60)
        assert (await consume(store)).verdict == "refused"

    async def test_nobody_goes_on_with_a_round_of_a_call_that_is_over(self, store: Store) -> None:
        await store.open_round(a_round())
        await consume(store)
        await store.end("c1", until=NOW + 60)
        assert (await consume(store)).verdict == "refused"

    async def test_the_end_of_one_call_leaves_the_others(self, store: Store) -> None:
        await store.open_round(a_round()._replace(journal=(CHARGED,)))
        other = a_round("hr1.other", call_id="c2")._replace(journal=(CHARGED,))
        await store.open_round(other)
        await store.end("c1", until=NOW)
        await store.end("c3", until=NOW)
        assert await store.find_round("hr1.other") == other

    # What waits.

    async def test_what_waits_is_listed_oldest_first_and_without_its_journal(self, store: Store) -> None:
        rounds = [a_round(f"hr1.{name}", call_id=name) for name in "zebra"]
        for record in rounds:
            await store.open_round(record._replace(journal=(CHARGED,)))
        assert await store.pending() == rounds

    async def test_what_waits_for_one_person_is_listed_apart(self, store: Store) -> None:
        await store.open_round(a_round())
        hers = a_round("hr1.hers", call_id="c2")._replace(binding=MALLORY)
        await store.open_round(hers)
        assert await store.pending(MALLORY.person) == [hers]
        assert await store.pending("nobody") == []
        assert await store.pending("") == []
        assert len(await store.pending()) == 2

    async def test_what_was_answered_settled_or_ended_waits_no_more(self, store: Store) -> None:
        for name in ("answered", "settled", "ended", "closed"):
            await store.open_round(a_round(f"hr1.{name}", call_id=name))
        await consume(store, "hr1.answered")
        await store.settle("hr1.settled", RESULT, until=NOW + 60)
        await store.end("ended", until=NOW + 60)
        await store.close_round("hr1.closed")
        assert await store.pending() == []
        # The answer of the first was taken, and nobody got to an end with it.
        assert [round_.call_id for round_ in await store.unfinished()] == ["answered"]

    # Forgetting.

    async def test_what_is_over_is_pruned_and_what_is_not_stays(self, store: Store) -> None:
        await store.open_round(a_round("hr1.settled", call_id="c1"))
        await consume(store, "hr1.settled")
        await store.settle("hr1.settled", RESULT, until=NOW + 60)
        waiting = a_round("hr1.waiting", call_id="c2")._replace(deadline=LONG_AFTER)
        await store.open_round(waiting)
        await store.open_flow(Flow("over", "alice", NOW + 10))
        await store.open_flow(Flow("open", "alice", LONG_AFTER))
        assert await store.prune(NOW) == 0
        assert await store.prune(NOW + 60) == 2
        assert await store.find_round("hr1.settled") is None
        assert await store.find_round("hr1.waiting") == waiting
        assert await store.find_flow("over") is None
        assert await store.find_flow("open") is not None

    async def test_a_journal_lives_as_long_as_one_of_its_rounds(self, store: Store) -> None:
        await store.open_round(a_round()._replace(journal=(ANSWERED,)))
        await consume(store)
        await store.settle("hr1.first", RoundOutcome("round", {}), until=NOW + 60)
        second = a_round("hr1.second", number=2)._replace(deadline=LONG_AFTER, journal=(ANSWERED, CHARGED))
        await store.open_round(second)
        assert await store.prune(NOW + 60) == 1
        assert await store.find_round("hr1.second") == second

    async def test_rounds_that_nobody_came_back_to_go_some_time_after_their_deadline(
        self, store: Store
    ) -> None:
        await store.open_round(a_round("hr1.open", call_id="c1")._replace(journal=(CHARGED,)))
        await store.open_round(a_round("hr1.used", call_id="c2")._replace(journal=(CHARGED,)))
        await consume(store, "hr1.used")
        await store.open_round(a_round("hr1.closed", call_id="c3"))
        await store.close_round("hr1.closed")
        assert await store.prune(DEADLINE) == 0
        assert await store.prune(LONG_AFTER) == 3
        assert await store.pending() == []

    async def test_nothing_of_an_earlier_call_is_left_for_a_later_one(self, store: Store) -> None:
        await store.open_round(a_round()._replace(journal=(CHARGED,)))
        await store.append("c1", [ANSWERED])
        await store.prune(LONG_AFTER)
        await store.open_round(a_round())
        assert await store.find_round("hr1.first") == a_round()

    async def test_pruning_while_rounds_are_used_harms_none(self, store: Store) -> None:
        for at in range(20):
            await store.open_round(a_round(f"hr1.{at}", call_id=f"c{at}"))
        pruning = asyncio.ensure_future(store.prune(NOW))
        taken = await asyncio.gather(*(consume(store, f"hr1.{at}") for at in range(20)))
        assert await pruning == 0
        assert {consumption.verdict for consumption in taken} == {"first"}
