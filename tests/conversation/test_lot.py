"""Parking and resuming, without any SDK."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

import pytest
from tests.conversation.parking import (
    ALICE,
    MALLORY,
    Again,
    Log,
    Parking,
    Unsteady,
    ask,
    one_question,
    two_questions,
    within,
)
from tests.waiting import until

from handraise.conversation import TOKEN_PREFIX, Conversation, RoundRecord, SettledError, Store, lot
from handraise.conversation.digest import Written
from handraise.conversation.rounds import Asked
from handraise.errors import ConversationError, Expired, NoRoom, StateRefused, Withdrawn
from handraise.stores import MemoryStore
from handraise.testing.made_up import a_round

# Rounds.


@pytest.mark.shows("C1")
async def test_a_body_goes_on_where_it_was(store: Store, log: Log) -> None:
    parking = Parking(two_questions(log), store)
    first = await within(parking.call())
    assert first["inputRequests"] == {"name": {"message": "name?"}}
    second = await within(parking.retry(first, {"name": "Ada"}))
    assert second["inputRequests"] == {"size": {"message": "size?"}}
    assert await within(parking.retry(second, {"size": 4})) == {"name": "Ada", "size": 4}
    assert log == ["before", "hello Ada", "size 4"]
    assert parking.rebound == 2
    await until(lambda: parking.is_empty)


async def test_a_body_that_never_asks_leaves_no_trace(store: Store) -> None:
    async def body(conversation: Conversation) -> Any:
        await asyncio.sleep(0)
        return "done"

    parking = Parking(body, store)
    assert await within(parking.call()) == "done"
    await until(lambda: parking.is_empty)
    assert await store.prune(float("inf")) == 0


@pytest.mark.shows("C2")
async def test_a_state_is_short_random_and_ours(log: Log) -> None:
    parking = Parking(one_question(log))
    states = {(await parking.call())["requestState"] for _ in range(50)}
    assert len(states) == 50
    assert all(state.startswith(TOKEN_PREFIX) and len(state) <= 64 for state in states)
    await parking.lot.close()


async def test_what_a_body_raises_reaches_its_caller(store: Store) -> None:
    async def body(conversation: Conversation) -> Any:
        await ask(conversation, "name")
        raise ZeroDivisionError("no")

    parking = Parking(body, store)
    first = await within(parking.call())
    with pytest.raises(ZeroDivisionError):
        await within(parking.retry(first, {"name": "Ada"}))
    with pytest.raises(SettledError) as late:
        await within(parking.retry(first, {"name": "Ada"}))
    assert late.value.error == {"message": "ZeroDivisionError: no"}
    await until(lambda: parking.is_empty)


# Single use.


@pytest.mark.shows("C3")
async def test_eight_identical_retries_at_once_have_one_effect_and_one_outcome(
    store: Store, log: Log
) -> None:
    parking = Parking(two_questions(log), store)
    first = await within(parking.call())
    outcomes = await within(asyncio.gather(*(parking.retry(first, {"name": "Ada"}) for _ in range(8))))
    assert all(outcome == outcomes[0] for outcome in outcomes)
    ends = await within(asyncio.gather(*(parking.retry(outcomes[0], {"size": 4}) for _ in range(8))))
    assert all(end == {"name": "Ada", "size": 4} for end in ends)
    assert log == ["before", "hello Ada", "size 4"]
    assert parking.rebound == 2


@pytest.mark.shows("C3")
async def test_a_late_retry_gets_the_same_outcome_and_a_different_one_is_refused(
    store: Store, log: Log
) -> None:
    parking = Parking(two_questions(log), store)
    first = await within(parking.call())
    second = await within(parking.retry(first, {"name": "Ada"}))
    assert await within(parking.retry(first, {"name": "Ada"})) == second
    end = await within(parking.retry(second, {"size": 4}))
    assert await within(parking.retry(first, {"name": "Ada"})) == second
    assert await within(parking.retry(second, {"size": 4})) == end
    for round_, answers in ((first, {"name": "Eve"}), (second, {"size": 5}), (second, {"size": True})):
        with pytest.raises(StateRefused):
            await within(parking.retry(round_, answers))
    assert log == ["before", "hello Ada", "size 4"]


@pytest.mark.shows("C3")
async def test_of_different_retries_at_once_one_is_used_and_the_others_are_refused(
    store: Store, log: Log
) -> None:
    parking = Parking(one_question(log), store)
    first = await within(parking.call())
    names = [f"person {number}" for number in range(8)]
    retries = (parking.retry(first, {"name": name}) for name in names)
    outcomes = await within(asyncio.gather(*retries, return_exceptions=True))
    [used] = [outcome for outcome in outcomes if isinstance(outcome, str)]
    assert used in names
    assert sum(isinstance(outcome, StateRefused) for outcome in outcomes) == 7
    assert log == ["finally", f"hello {used}"]


@pytest.mark.shows("C2", "C3")
async def test_a_retry_that_does_not_belong_here_is_refused_and_the_round_stays_open(
    store: Store, log: Log
) -> None:
    parking = Parking(one_question(log), store)
    first = await within(parking.call())
    state = first["requestState"]
    foreign = [MALLORY, ALICE._replace(target="delete"), ALICE._replace(arguments=Written.of("other"))]
    for binding in foreign:
        for answers in ({"name": "Eve"}, {}, {"other": 1}):
            with pytest.raises(StateRefused):
                await within(parking.retry(state, answers, binding))
    for forged in (state + "x", state[:-1], TOKEN_PREFIX, TOKEN_PREFIX + "A" * 24, state.swapcase()):
        for answers in ({"name": "Eve"}, {}):
            with pytest.raises(StateRefused):
                await within(parking.retry(forged, answers))
    assert log == []
    assert await within(parking.retry(first, {"name": "Ada"})) == "Ada"


@pytest.mark.shows("C2")
@pytest.mark.parametrize(
    "rubbish", ["\ud800", "\0", "hr1.\udfff", "x" * 1_000_000, "hr1.'; DROP TABLE rounds"]
)
async def test_a_state_that_is_no_text_at_all_is_refused_like_any_other(
    store: Store, log: Log, rubbish: str
) -> None:
    parking = Parking(one_question(log), store)
    for state in (TOKEN_PREFIX + rubbish, rubbish):
        with pytest.raises(StateRefused):
            await within(parking.retry(state, {"name": "Eve"}))


@pytest.mark.shows("C2")
async def test_a_state_that_is_longer_than_any_of_ours_never_reaches_the_store(log: Log) -> None:
    store = Unsteady()
    store.failing = {"find_round", "consume"}
    parking = Parking(one_question(log), store)
    for length in (64, 1_000_000):
        with pytest.raises(StateRefused):
            await within(parking.retry(TOKEN_PREFIX + "0" * length, {"name": "Eve"}))


@pytest.mark.shows("C3")
async def test_the_round_of_one_conversation_says_nothing_to_another(store: Store, log: Log) -> None:
    parking = Parking(two_questions(log), store)
    ada, bob = await within(parking.call()), await within(parking.call())
    second = await within(parking.retry(ada, {"name": "Ada"}))
    assert await within(parking.retry(bob, {"size": 4})) == bob
    assert await within(parking.retry(second, {"name": "Bob"})) == second
    assert log == ["before", "before", "hello Ada"]
    await parking.lot.close()


# Answers that do not fit the round.


@pytest.mark.shows("C5")
async def test_a_retry_without_the_answer_gets_the_same_round_and_uses_nothing_up(
    store: Store, log: Log
) -> None:
    parking = Parking(one_question(log), store)
    first = await within(parking.call())
    assert await within(parking.retry(first, {})) == first
    assert await within(parking.retry(first, {"unknown": "x"})) == first
    assert log == []
    assert await within(parking.retry(first, {"name": "Ada", "unknown": "x"})) == "Ada"


@pytest.mark.shows("C5")
async def test_a_round_that_is_answered_in_part_asks_for_the_rest(store: Store, log: Log) -> None:
    async def body(conversation: Conversation) -> Any:
        async def one(key: str) -> Any:
            answer = await ask(conversation, key)
            log.append(key)
            return answer

        return await asyncio.gather(*(one(key) for key in "abc"))

    parking = Parking(body, store)
    first = await within(parking.call())
    assert list(first["inputRequests"]) == ["a", "b", "c"]
    rest = await within(parking.retry(first, {"b": 2}))
    assert list(rest["inputRequests"]) == ["a", "c"]
    assert log == ["b"]
    with pytest.raises(StateRefused):
        await within(parking.retry(first, {"a": 1, "b": 2, "c": 3}))
    assert await within(parking.retry(rest, {"a": 1, "c": 3})) == [1, 2, 3]
    assert sorted(log) == ["a", "b", "c"]


async def test_a_question_that_is_open_is_not_asked_a_second_time(store: Store) -> None:
    async def body(conversation: Conversation) -> Any:
        asked = (ask(conversation, "name") for _ in range(2))
        answers = await asyncio.gather(*asked, return_exceptions=True)
        return [answers[0], type(answers[1]).__name__]

    parking = Parking(body, store)
    first = await within(parking.call())
    assert await within(parking.retry(first, {"name": "Ada"})) == ["Ada", "UsageError"]


# The end of a server.


async def test_closing_withdraws_every_question_and_lets_the_bodies_tidy_up(store: Store, log: Log) -> None:
    parking = Parking(one_question(log), store)
    rounds = [await within(parking.call()) for _ in range(3)]
    await within(parking.lot.close())
    assert log == ["withdrawn", "finally"] * 3
    await until(lambda: parking.is_empty)
    with pytest.raises(SettledError, match="Withdrawn"):
        await within(parking.retry(rounds[0], {"name": "Ada"}))


async def test_closing_cancels_bodies_that_work_and_bodies_that_ask_on(store: Store, log: Log) -> None:
    working = asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        kind = await ask(conversation, "kind")
        try:
            working.set()
            if kind == "works":
                await asyncio.Event().wait()
            while True:
                with contextlib.suppress(Withdrawn):
                    await ask(conversation, "again")
        finally:
            log.append(kind)

    parking = Parking(body, store, grace=0.2)
    for kind in ("works", "asks on"):
        first = await within(parking.call())
        working.clear()
        retry = asyncio.ensure_future(parking.retry(first, {"kind": kind}))
        await within(working.wait())
        retry.add_done_callback(lambda done: done.exception())
    await within(parking.lot.close())
    assert sorted(log) == ["asks on", "works"]
    await until(lambda: parking.is_empty)


async def test_a_lot_takes_calls_again_after_it_was_closed(store: Store, log: Log) -> None:
    parking = Parking(one_question(log), store)
    await within(parking.call())
    await within(parking.lot.close())
    first = await within(parking.call())
    assert await within(parking.retry(first, {"name": "Ada"})) == "Ada"
    await within(parking.lot.close())


# Room, and what is left.


async def test_no_more_questions_are_parked_than_there_is_room_for(store: Store, log: Log) -> None:
    parking = Parking(one_question(log), store, max_parked=2)
    rounds = [await within(parking.call()) for _ in range(2)]
    with pytest.raises(ConversationError, match="2 questions wait"):
        await within(parking.call())
    assert await within(parking.retry(rounds[0], {"name": "Ada"})) == "Ada"
    await within(parking.call())
    await within(parking.lot.close())


@pytest.mark.shows("C9", "S6")
async def test_nothing_is_left_when_the_window_is_over(store: Store, log: Log) -> None:
    async def body(conversation: Conversation) -> Any:
        kind = await ask(conversation, "kind", timeout=0.3)
        if kind == "fails":
            raise ZeroDivisionError
        if kind == "asks on":
            return await asyncio.gather(*(ask(conversation, key) for key in "ab"))
        return kind

    parking = Parking(body, store, retry_window=0.2, linger=0.05)
    for kind in ("ends", "fails", "asks on", "is dropped"):
        first = await within(parking.call())
        if kind == "is dropped":
            continue
        with contextlib.suppress(ZeroDivisionError):
            second = await within(parking.retry(first, {"kind": kind}))
            if kind == "asks on":
                third = await within(parking.retry(second, {"a": 1}))
                assert await within(parking.retry(third, {"b": 2})) == [1, 2]
    await until(lambda: parking.is_empty and parking.lot._pruning is None)
    assert await store.prune(float("inf")) == 0
    timed = [about for *_, told in parking.lot.deadlines._heap for about in told]
    assert not any(isinstance(about, Asked) for about in timed)  # a question's time ends with it
    if isinstance(store, MemoryStore):
        assert not store._rows
        assert not store._tokens
        assert not store._journals


@pytest.mark.shows("C3", "G5")
async def test_while_the_end_of_a_body_is_written_the_events_of_its_answer_are_made_from_its_round() -> None:
    store, made_from = Unsteady(), list[type]()

    class Told(Again):
        def tell_taken(self, of: object, answers: Mapping[str, Any]) -> tuple[()]:
            made_from.append(type(of))
            return ()

    parking = Parking(one_question(Log()), store)
    first = await parking.call()

    def retry() -> asyncio.Future[Any]:
        told = Told(parking, first["requestState"], ALICE, {"name": "Ada"})
        return asyncio.ensure_future(parking.lot.resume(told))

    async with store.held_before("settle") as gate:
        one = retry()
        await within(gate.reached.wait())
        two = retry()
        await until(lambda: len(made_from) == 2)
    assert await within(one) == await within(two) == "Ada"
    assert made_from == [Conversation, RoundRecord]


# A store that fails.


async def test_a_store_that_cannot_prune_is_asked_again(log: Log, caplog: pytest.LogCaptureFixture) -> None:
    store = Unsteady()
    parking = Parking(one_question(log), store, retry_window=0.05)
    first = await within(parking.call())
    store.failing.add("prune")
    await within(parking.retry(first, {"name": "Ada"}))
    await until(lambda: "the disk is full" in caplog.text)
    store.failing.clear()
    await until(lambda: not store.inner._rows)
    await parking.lot.close()


async def test_a_store_that_fails_at_the_end_does_not_break_the_end(
    log: Log, caplog: pytest.LogCaptureFixture
) -> None:
    store = Unsteady()
    parking = Parking(one_question(log), store)
    await within(parking.call())
    store.failing |= {"prune", "settle"}
    await within(parking.lot.close())
    assert log == ["withdrawn", "finally"]
    assert caplog.text.count("the disk is full") == 2
    await until(lambda: parking.is_empty)


@pytest.mark.parametrize("replayable", [True, False])
async def test_a_round_that_could_not_be_settled_goes_on_and_is_settled_later(
    log: Log, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, replayable: bool
) -> None:
    monkeypatch.setattr(lot, "_AGAIN", 0.02)
    store = Unsteady()
    parking = Parking(two_questions(log), store, replayable=replayable, lease=0.05)
    first = await within(parking.call())
    store.failing.add("settle")
    second = await within(parking.retry(first, {"name": "Ada"}))
    assert second["inputRequests"] == {"size": {"message": "size?"}}
    assert "the disk is full" in caplog.text
    await asyncio.sleep(0.1)  # longer than the lease
    assert await within(parking.retry(first, {"name": "Ada"})) == second
    store.failing.clear()
    await until(lambda: len(parking.lot.live) == 1)
    assert await within(parking.retry(second, {"size": 4})) == {"name": "Ada", "size": 4}
    await until(lambda: parking.is_empty)
    assert await within(parking.retry(first, {"name": "Ada"})) == second
    assert log == ["before", "hello Ada", "size 4"]
    await parking.lot.close()


async def test_nothing_runs_again_for_a_round_that_was_not_settled_before_its_call_was_over(log: Log) -> None:
    store = Unsteady()
    parking = Parking(two_questions(log), store, replayable=True, lease=0.0)
    first = await within(parking.call())
    store.failing.add("settle")
    second = await within(parking.retry(first, {"name": "Ada"}))
    store.failing.clear()
    await within(parking.retry(second, {"size": 4}))
    for server in (parking, Parking(two_questions(log), store, replayable=True, lease=0.0)):
        with pytest.raises(StateRefused):
            await within(server.retry(first, {"name": "Ada"}))
    assert log == ["before", "hello Ada", "size 4"]
    await parking.lot.close()


async def test_what_an_earlier_process_left_is_forgotten_while_nobody_asks(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lot, "_UPKEEP", 0.02)
    store = Unsteady()
    parking = Parking(one_question(log), store)
    for token in ("hr1.at-the-start", "hr1.later"):
        await store.open_round(a_round(token))
        if token == "hr1.later":
            assert parking.lot._pruning is None
        else:
            parking.lot.open()
        await until(lambda: not store.inner._rows)
        await until(lambda: parking.is_empty)
    await parking.lot.close()
    assert parking.lot._upkeep is None


async def test_nothing_is_due_when_a_lot_is_closed(store: Store, log: Log) -> None:
    parking = Parking(one_question(log), store)
    await within(parking.call())
    await within(parking.lot.close())
    await until(lambda: parking.is_empty)
    assert parking.lot._pruning is None


@pytest.mark.shows("C8", "X2")
async def test_a_question_that_expires_while_the_next_round_is_written_is_nobody_elses() -> None:
    """Another process has not taken it: its siblings go on, and who waits for the round gets the next one."""
    store, over = Unsteady(), asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        async def brief() -> str:
            try:
                return str(await ask(conversation, "brief", timeout=0.1))
            except Expired:
                over.set()
                return "expired"

        async def chained() -> str:
            await ask(conversation, "first")
            return str(await ask(conversation, "second"))

        return await asyncio.gather(brief(), chained())

    parking = Parking(body, store)
    first = await within(parking.call())
    async with store.held_before("open_round") as gate:
        retry = asyncio.ensure_future(parking.retry(first, {"first": 1}))
        await within(gate.reached.wait())
        await within(over.wait())
    second = await within(retry)
    assert "second" in second["inputRequests"]
    assert await within(parking.retry(second, {"second": 2})) == ["expired", "2"]


async def test_a_body_that_goes_on_makes_room_for_its_own_next_question() -> None:
    parking = Parking(two_questions(Log()), max_parked=1)
    first = await within(parking.call())
    with pytest.raises(NoRoom):
        await within(parking.call())
    second = await within(parking.retry(first, {"name": "Ada"}))
    assert await within(parking.retry(second, {"size": 1})) == {"name": "Ada", "size": 1}
