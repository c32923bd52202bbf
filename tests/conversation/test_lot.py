"""Parking and resuming, without any SDK."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.conversation.parking import (
    ALICE,
    MALLORY,
    Parking,
    Unsteady,
    ask,
    breathe,
    once,
    until,
    within,
)

from handraise.conversation import TOKEN_PREFIX, Conversation, Outcome, SettledError, Store
from handraise.errors import ConversationError, Expired, NotReplayable, StateRefused, StoreError, Withdrawn
from handraise.stores import MemoryStore, SqliteStore


@pytest.fixture(params=["memory", "sqlite", "unsteady"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    stores: dict[str, Any] = {
        "memory": MemoryStore,
        "sqlite": lambda: SqliteStore(tmp_path / "store.db"),
        "unsteady": Unsteady,
    }
    made: Any = stores[request.param]()
    yield made
    await made.aclose()


class Log(list[str]):
    """What bodies did, in order."""


@pytest.fixture
def log() -> Log:
    return Log()


def two_questions(log: Log) -> Any:
    async def body(conversation: Conversation) -> Any:
        log.append("before")
        name = await ask(conversation, "name")
        log.append(f"hello {name}")
        size = await ask(conversation, "size")
        log.append(f"size {size}")
        return {"name": name, "size": size}

    return body


def one_question(log: Log, **how: Any) -> Any:
    async def body(conversation: Conversation) -> Any:
        try:
            name = await ask(conversation, "name", **how)
        except (Expired, Withdrawn) as nobody:
            log.append(nobody.code)
            raise
        finally:
            log.append("finally")
        log.append(f"hello {name}")
        return name

    return body


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
    foreign = [MALLORY, ALICE._replace(target="delete"), ALICE._replace(arguments="other")]
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
    assert await within(parking.retry(first, {"name": "Ada"})) == ["Ada", "ConversationError"]


# Several questions.


async def test_tasks_that_ask_in_the_same_breath_share_a_round(store: Store) -> None:
    async def body(conversation: Conversation) -> Any:
        return await asyncio.gather(*(ask(conversation, key) for key in "abc"))

    parking = Parking(body, store)
    first = await within(parking.call())
    assert list(first["inputRequests"]) == ["a", "b", "c"]
    assert await within(parking.retry(first, {"a": 1, "b": 2, "c": 3})) == [1, 2, 3]


async def test_a_question_asked_while_a_round_is_out_goes_with_the_next_one(store: Store) -> None:
    out = asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        async def later() -> Any:
            await out.wait()
            return await ask(conversation, "later")

        return await asyncio.gather(ask(conversation, "first"), later())

    parking = Parking(body, store)
    first = await within(parking.call())
    assert list(first["inputRequests"]) == ["first"]
    out.set()
    await breathe()
    second = await within(parking.retry(first, {"first": 1}))
    assert list(second["inputRequests"]) == ["later"]
    assert await within(parking.retry(second, {"later": 2})) == [1, 2]


async def test_a_question_asked_while_a_round_is_being_written_goes_with_the_next_one() -> None:
    store = Unsteady()
    writing = asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        async def later() -> Any:
            await writing.wait()
            return await ask(conversation, "later")

        return await asyncio.gather(ask(conversation, "first"), later())

    parking = Parking(body, store)
    async with store.held_before("open_round") as gate:
        call = asyncio.ensure_future(parking.call())
        await within(gate.reached.wait())
        writing.set()
        await breathe()
    first = await within(call)
    assert list(first["inputRequests"]) == ["first"]
    second = await within(parking.retry(first, {"first": 1}))
    assert list(second["inputRequests"]) == ["later"]
    assert await within(parking.retry(second, {"later": 2})) == [1, 2]
    await until(lambda: parking.is_empty)


@pytest.mark.parametrize("asks", ["body", "task"])
async def test_when_a_round_cannot_be_kept_everyone_who_asked_is_told(asks: str) -> None:
    store = Unsteady()
    store.failing.add("open_round")

    async def body(conversation: Conversation) -> Any:
        if asks == "body":
            return await ask(conversation, "name")
        return await asyncio.gather(*(ask(conversation, key) for key in "abc"), return_exceptions=True)

    parking = Parking(body, store)
    if asks == "body":
        with pytest.raises(StoreError):
            await within(parking.call())
    else:
        assert [type(error) for error in await within(parking.call())] == [StoreError] * 3
    await until(lambda: parking.is_empty)


async def test_when_the_rest_of_a_round_cannot_be_kept_its_question_is_told() -> None:
    store = Unsteady()

    async def body(conversation: Conversation) -> Any:
        return await asyncio.gather(*(ask(conversation, key) for key in "ab"), return_exceptions=True)

    parking = Parking(body, store)
    first = await within(parking.call())
    store.failing.add("open_round")
    one, other = await within(parking.retry(first, {"a": 1}))
    assert one == 1
    assert isinstance(other, StoreError)


async def test_a_question_given_up_by_its_asker_takes_no_other_with_it() -> None:
    """The task that was about to send the round is stopped; its siblings' questions go out all the same."""
    store = Unsteady()

    async def body(conversation: Conversation) -> Any:
        sender = asyncio.ensure_future(ask(conversation, "sender"))
        other = asyncio.ensure_future(ask(conversation, "other"))
        await gate.reached.wait()
        sender.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sender
        return await other

    parking = Parking(body, store)
    async with store.held_before("open_round") as gate:
        call = asyncio.ensure_future(parking.call())
        await within(gate.reached.wait())
        await breathe()
    first = await within(call)
    assert "other" in first["inputRequests"]
    assert await within(parking.retry(first, {"other": 2})) == 2
    await until(lambda: parking.is_empty)


async def test_a_question_given_up_while_the_round_before_is_settled_leaves_no_caller_waiting() -> None:
    store = Unsteady()
    stop = asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        await ask(conversation, "first")
        asking = asyncio.ensure_future(ask(conversation, "second"))
        await stop.wait()
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
        return "stopped asking"

    parking = Parking(body, store)
    first = await within(parking.call())
    async with store.held_before("settle") as gate:
        retry = asyncio.ensure_future(parking.retry(first, {"first": 1}))
        await within(gate.reached.wait())
        stop.set()
        await breathe()
    result = await within(retry)
    if isinstance(result, dict):
        result = await within(parking.retry(result, {"second": 2}))
    assert result == "stopped asking"
    await until(lambda: parking.is_empty)


async def test_a_question_whose_caller_leaves_while_it_is_written_is_asked_of_nobody(log: Log) -> None:
    store = Unsteady()
    parking = Parking(one_question(log), store, retry_window=0.1)
    async with store.held_before("open_round") as gate:
        call = asyncio.ensure_future(parking.call())
        await within(gate.reached.wait())
        await _leave(call)
        await until(lambda: log == ["finally"])
    await until(lambda: parking.is_empty)
    assert await store.pending() == []
    assert log == ["finally"]


async def test_a_question_that_waits_for_one_that_cannot_be_kept_is_told_too() -> None:
    store = Unsteady()
    store.failing.add("open_round")

    async def body(conversation: Conversation) -> Any:
        async def later() -> Any:
            await gate.reached.wait()
            return await ask(conversation, "later")

        return await asyncio.gather(ask(conversation, "first"), later(), return_exceptions=True)

    parking = Parking(body, store)
    async with store.held_before("open_round") as gate:
        call = asyncio.ensure_future(parking.call())
        await within(gate.reached.wait())
        await breathe()
    assert [type(error) for error in await within(call)] == [StoreError] * 2


# Time.


@pytest.mark.shows("C8")
async def test_nobody_answering_in_time_is_expired_to_the_body_and_to_a_late_retry(
    store: Store, log: Log
) -> None:
    parking = Parking(one_question(log, timeout=0.05), store)
    first = await within(parking.call())
    await until(lambda: parking.is_empty)
    assert log == ["expired", "finally"]
    with pytest.raises(SettledError, match="Expired"):
        await within(parking.retry(first, {"name": "Ada"}))
    with pytest.raises(StateRefused):
        await within(parking.retry(first, {"name": "Ada"}, MALLORY))
    assert log == ["expired", "finally"]


async def test_a_retry_after_the_deadline_is_refused_while_the_body_still_works(
    store: Store, log: Log
) -> None:
    over, go_on = asyncio.Event(), asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        try:
            await ask(conversation, "name", timeout=0.05)
        except Expired:
            over.set()
            await go_on.wait()
        return "nobody"

    parking = Parking(body, store)
    first = await within(parking.call())
    await within(over.wait())
    for answers in ({"name": "Ada"}, {}):
        with pytest.raises(StateRefused):
            await within(parking.retry(first, answers))
    go_on.set()
    await until(lambda: parking.is_empty)
    assert await within(parking.retry(first, {"name": "Ada"})) == "nobody"


async def test_a_body_may_ask_something_else_when_nobody_answered(store: Store) -> None:
    async def body(conversation: Conversation) -> Any:
        try:
            return await ask(conversation, "quick", timeout=0.05)
        except Expired:
            return await ask(conversation, "slow")

    parking = Parking(body, store)
    first = await within(parking.call())
    tokens = set(parking.lot.live)
    await until(lambda: set(parking.lot.live) != tokens and len(parking.lot.live) == 1)
    second = await within(parking.retry(first, {"quick": 1}))
    assert list(second["inputRequests"]) == ["slow"]
    assert await within(parking.retry(second, {"slow": 2})) == 2


async def test_one_question_of_a_round_may_expire_while_the_others_wait_on(store: Store) -> None:
    expired = asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        async def quick() -> Any:
            try:
                return await ask(conversation, "quick", timeout=0.05)
            except Expired:
                expired.set()
                return "nobody"

        return await asyncio.gather(quick(), ask(conversation, "slow"))

    parking = Parking(body, store)
    first = await within(parking.call())
    await within(expired.wait())
    await breathe()
    assert await within(parking.retry(first, {"quick": 1, "slow": 2})) == ["nobody", 2]


async def test_a_question_that_waits_behind_one_that_expires_goes_out_then(store: Store) -> None:
    out = asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        async def quick() -> str:
            try:
                return str(await ask(conversation, "quick", timeout=0.1))
            except Expired:
                return "nobody"

        async def later() -> Any:
            await out.wait()
            return await ask(conversation, "later")

        return await asyncio.gather(quick(), later())

    parking = Parking(body, store)
    first = await within(parking.call())
    out.set()
    await until(lambda: list(parking.lot.live) not in ([], [first["requestState"]]))
    second = await within(parking.retry(first, {"quick": 1}))
    assert list(second["inputRequests"]) == ["later"]
    assert await within(parking.retry(second, {"later": 2})) == ["nobody", 2]


async def test_an_answer_that_the_store_took_in_time_is_used_however_slow_the_store_is(log: Log) -> None:
    store = Unsteady()
    parking = Parking(one_question(log, timeout=0.2), store)
    first = await within(parking.call())
    async with store.held_after("consume") as gate:
        retry = asyncio.ensure_future(parking.retry(first, {"name": "Ada"}))
        await within(gate.reached.wait())
        await asyncio.sleep(0.4)  # the deadline passes while the store still writes
    assert await within(retry) == "Ada"
    assert log == ["finally", "hello Ada"]


# Callers that leave.


async def _leave(retry: asyncio.Future[Any]) -> None:
    retry.cancel()
    with pytest.raises(asyncio.CancelledError):
        await retry


async def test_a_body_whose_caller_leaves_before_any_question_ends(store: Store, log: Log) -> None:
    working = asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        try:
            working.set()
            await asyncio.Event().wait()
        finally:
            log.append("finally")

    parking = Parking(body, store)
    call = asyncio.ensure_future(parking.call())
    await within(working.wait())
    await _leave(call)
    await until(lambda: parking.is_empty)
    assert log == ["finally"]


@pytest.mark.parametrize("returns", [True, False])
async def test_a_body_lingers_when_its_caller_leaves_after_the_answer_was_used(
    store: Store, log: Log, returns: bool
) -> None:
    working, go_on = asyncio.Event(), asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        name = await ask(conversation, "name")
        try:
            working.set()
            await go_on.wait()
            return name
        finally:
            log.append("finally")

    parking = Parking(body, store, linger=10 if returns else 0.05)
    first = await within(parking.call())
    retry = asyncio.ensure_future(parking.retry(first, {"name": "Ada"}))
    await within(working.wait())
    await _leave(retry)
    if returns:
        again = asyncio.ensure_future(parking.retry(first, {"name": "Ada"}))
        await breathe()
        go_on.set()
        assert await within(again) == "Ada"
    else:
        await until(lambda: parking.is_empty)
        with pytest.raises(SettledError, match="Withdrawn"):
            await within(parking.retry(first, {"name": "Ada"}))
    assert log == ["finally"]
    await until(lambda: parking.is_empty)


async def test_a_body_goes_on_while_one_of_its_callers_is_left(store: Store) -> None:
    working, go_on = asyncio.Event(), asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        name = await ask(conversation, "name")
        working.set()
        await go_on.wait()
        return name

    parking = Parking(body, store, linger=0.0)
    first = await within(parking.call())
    one = asyncio.ensure_future(parking.retry(first, {"name": "Ada"}))
    other = asyncio.ensure_future(parking.retry(first, {"name": "Ada"}))
    await within(working.wait())
    await until(lambda: len(parking.lot.live[first["requestState"]][1].waiters) == 2)
    await _leave(one)
    await asyncio.sleep(0.02)
    go_on.set()
    assert await within(other) == "Ada"


async def test_a_question_that_goes_out_while_the_body_lingers_is_there_for_the_same_retry(
    store: Store,
) -> None:
    working, go_on = asyncio.Event(), asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        await ask(conversation, "first")
        working.set()
        await go_on.wait()
        return await ask(conversation, "second")

    parking = Parking(body, store, linger=0.2)
    first = await within(parking.call())
    retry = asyncio.ensure_future(parking.retry(first, {"first": 1}))
    await within(working.wait())
    await _leave(retry)
    go_on.set()
    second = await within(parking.retry(first, {"first": 1}))
    await asyncio.sleep(0.3)  # the time for lingering is over, and nobody may care
    assert await within(parking.retry(second, {"second": 2})) == 2


@pytest.mark.shows("C3")
async def test_an_answer_whose_retry_was_cut_off_while_the_store_took_it_is_not_lost(log: Log) -> None:
    store = Unsteady()
    parking = Parking(one_question(log), store)
    first = await within(parking.call())
    async with store.held_after("consume") as gate:
        retry = asyncio.ensure_future(parking.retry(first, {"name": "Ada"}))
        await within(gate.reached.wait())
        await _leave(retry)
    assert log == []
    outcomes = await within(asyncio.gather(*(parking.retry(first, {"name": "Ada"}) for _ in range(3))))
    assert outcomes == ["Ada"] * 3
    assert log == ["finally", "hello Ada"]


async def test_an_answer_that_was_used_is_not_given_to_the_same_question_asked_again(log: Log) -> None:
    """Two retries at once; the slower one must not answer the question that follows under the same key."""
    store = Unsteady()

    async def body(conversation: Conversation) -> Any:
        return [await ask(conversation, "next"), await ask(conversation, "next")]

    parking = Parking(body, store)
    first = await within(parking.call())
    async with store.held_after("consume") as gate:
        slow = asyncio.ensure_future(parking.retry(first, {"next": 1}))
        await within(gate.reached.wait())
        store._after.clear()
        second = await within(parking.retry(first, {"next": 1}))
    assert await within(slow) == second
    assert second["inputRequests"] == {"next": {"message": "next?"}}
    assert await within(parking.retry(second, {"next": 2})) == [1, 2]


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
    if isinstance(store, MemoryStore):
        assert not store._rows
        assert not store._tokens
        assert not store._journals


async def test_a_store_that_fails_at_the_end_leaves_nothing_in_the_lot_and_no_caller_waiting(
    log: Log, caplog: pytest.LogCaptureFixture
) -> None:
    store = Unsteady()
    parking = Parking(one_question(log), store)
    first = await within(parking.call())
    store.failing |= {"settle", "end"}
    assert await within(parking.retry(first, {"name": "Ada"})) == "Ada"
    await until(lambda: parking.is_empty)
    assert log == ["finally", "hello Ada"]


async def test_questions_that_nobody_waits_for_any_more_end_with_the_body(store: Store) -> None:
    tasks: list[asyncio.Task[Any]] = []

    async def body(conversation: Conversation) -> Any:
        tasks.append(asyncio.ensure_future(ask(conversation, "forgotten")))
        await ask(conversation, "name")
        return "done"

    parking = Parking(body, store)
    first = await within(parking.call())
    assert await within(parking.retry(first, {"name": "Ada"})) == "done"
    await within(asyncio.wait(tasks))
    await until(lambda: parking.is_empty)


async def test_a_task_that_outlives_its_body_is_told_at_once_that_nobody_can_be_asked(store: Store) -> None:
    tasks: list[asyncio.Task[Any]] = []
    over = asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        async def late() -> Any:
            await over.wait()
            return await ask(conversation, "late")

        tasks.append(asyncio.ensure_future(late()))
        return await ask(conversation, "name")

    parking = Parking(body, store)
    first = await within(parking.call())
    assert await within(parking.retry(first, {"name": "Ada"})) == "Ada"
    over.set()
    with pytest.raises(Withdrawn):
        await within(tasks[0])


# Bodies that are gone.


def replayed(log: Log) -> Any:
    async def body(conversation: Conversation) -> Any:
        name = await ask(conversation, "name")

        def charge() -> str:
            log.append("charged")
            return f"receipt of {name}"

        charged = await once(conversation, "charge", charge)
        size = await ask(conversation, "size")
        return [charged, size]

    return body


@pytest.mark.shows("C6")
async def test_bodies_that_are_let_go_at_each_question_are_replayed(store: Store, log: Log) -> None:
    parking = Parking(replayed(log), store, replayable=True, forget_bodies=True)
    first = await within(parking.call())
    await until(lambda: parking.is_empty)
    second = await within(parking.retry(first, {"name": "Ada"}))
    await until(lambda: parking.is_empty)
    assert await within(parking.retry(second, {"size": 4})) == ["receipt of Ada", 4]
    assert log == ["charged"]
    assert await within(parking.retry(second, {"size": 4})) == ["receipt of Ada", 4]
    assert await within(parking.retry(first, {"name": "Ada"})) == second
    await until(lambda: parking.is_empty)


@pytest.mark.shows("C3", "C6")
async def test_eight_identical_retries_at_once_replay_a_body_once(store: Store, log: Log) -> None:
    runs: list[int] = []

    async def body(conversation: Conversation) -> Any:
        runs.append(len(runs))
        return await replayed(log)(conversation)

    parking = Parking(body, store, replayable=True, forget_bodies=True)
    first = await within(parking.call())
    seconds = await within(asyncio.gather(*(parking.retry(first, {"name": "Ada"}) for _ in range(8))))
    assert all(second == seconds[0] for second in seconds)
    assert len(runs) == 2
    ends = await within(asyncio.gather(*(parking.retry(seconds[0], {"size": 4}) for _ in range(8))))
    assert ends == [["receipt of Ada", 4]] * 8
    assert len(runs) == 3
    assert log == ["charged"]


async def test_a_retry_that_comes_while_another_replays_the_body_to_its_end_runs_nothing() -> None:
    store = Unsteady()
    runs: list[str] = []

    async def body(conversation: Conversation) -> Any:
        runs.append("run")
        return await ask(conversation, "name")

    parking = Parking(body, store, replayable=True, forget_bodies=True)
    first = await within(parking.call())
    async with store.held_before("end"):
        one = asyncio.ensure_future(parking.retry(first, {"name": "Ada"}))
        other = asyncio.ensure_future(parking.retry(first, {"name": "Ada"}))
        await breathe(100)
    for _ in range(3):
        assert await within(parking.retry(first, {"name": "Ada"})) == "Ada"
    assert list(await within(asyncio.gather(one, other))) == ["Ada", "Ada"]
    assert runs == ["run"] * 2


@pytest.mark.shows("C6")
async def test_another_process_goes_on_with_a_replayable_body_and_the_first_one_lets_go(log: Log) -> None:
    store = Unsteady()
    body = replayed(log)

    async def quickly(conversation: Conversation) -> Any:
        return await ask(conversation, "name", timeout=0.1)

    here, there = Parking(body, store, replayable=True), Parking(body, store, replayable=True)
    first = await within(here.call())
    second = await within(there.retry(first, {"name": "Ada"}))
    assert await within(here.retry(second, {"size": 4})) == ["receipt of Ada", 4]
    assert log == ["charged"]
    for parking in (here, there):
        assert await within(parking.retry(second, {"size": 4})) == ["receipt of Ada", 4]
        with pytest.raises(StateRefused):
            await within(parking.retry(second, {"size": 5}))
        with pytest.raises(StateRefused):
            await within(parking.retry(second, {"size": 4}, MALLORY))
    await within(here.lot.close())
    await within(there.lot.close())


@pytest.mark.shows("C6")
@pytest.mark.parametrize("learns", ["at its deadline", "from the same retry"])
async def test_a_body_whose_answer_another_process_took_is_let_go_and_never_told_that_nobody_answered(
    log: Log, learns: str
) -> None:
    store = Unsteady()
    timeout = 0.1 if learns == "at its deadline" else 60.0
    here, there = (Parking(one_question(log, timeout=timeout), store, replayable=True) for _ in range(2))
    first = await within(here.call())
    assert await within(there.retry(first, {"name": "Ada"})) == "Ada"
    if learns == "from the same retry":
        assert await within(here.retry(first, {"name": "Ada"})) == "Ada"
    await until(lambda: here.is_empty)
    assert log == ["finally", "hello Ada", "finally"]
    assert await within(here.retry(first, {"name": "Ada"})) == "Ada"


@pytest.mark.shows("C3", "C6")
async def test_a_body_that_is_parked_here_does_not_run_while_another_process_runs_it(log: Log) -> None:
    store = Unsteady()
    go_on = asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        name = await ask(conversation, "name")
        log.append("working")
        await go_on.wait()
        return name

    here, there = (Parking(body, store, replayable=True) for _ in range(2))
    first = await within(here.call())
    elsewhere = asyncio.ensure_future(there.retry(first, {"name": "Ada"}))
    await until(lambda: log == ["working"])
    same = asyncio.ensure_future(here.retry(first, {"name": "Ada"}))
    await breathe(50)
    assert log == ["working"]
    go_on.set()
    assert list(await within(asyncio.gather(elsewhere, same))) == ["Ada", "Ada"]
    assert log == ["working"]
    await until(lambda: here.is_empty and there.is_empty)


@pytest.mark.shows("C6")
@pytest.mark.parametrize("replayable", [True, False])
async def test_a_body_that_is_parked_here_goes_on_when_the_process_that_took_its_answer_is_gone(
    log: Log, replayable: bool
) -> None:
    store = Unsteady()
    here = Parking(one_question(log), store, replayable=replayable, lease=0.1)
    there = Parking(one_question(log), store, replayable=replayable)
    first = await within(here.call())
    async with store.held_after("consume") as gate:
        dies = asyncio.ensure_future(there.retry(first, {"name": "Ada"}))
        await within(gate.reached.wait())
        await _leave(dies)
    assert await within(here.retry(first, {"name": "Ada"})) == "Ada"
    assert log == ["finally", "hello Ada"]


@pytest.mark.shows("C6")
async def test_another_process_does_not_run_a_body_that_is_not_replayable(log: Log) -> None:
    store = Unsteady()
    here, there = Parking(two_questions(log), store), Parking(two_questions(log), store)
    first = await within(here.call())
    with pytest.raises(NotReplayable):
        await within(there.retry(first, {"name": "Ada"}))
    with pytest.raises(SettledError, match="NotReplayable"):
        await within(there.retry(first, {"name": "Ada"}))
    with pytest.raises(SettledError, match="NotReplayable"):
        await within(here.retry(first, {"name": "Ada"}))
    assert log == ["before"]
    await within(here.lot.close())


@pytest.mark.shows("C3", "C6")
async def test_when_a_process_is_gone_one_of_the_others_goes_on(log: Log) -> None:
    """It died after the answer was taken. Retries arrive at two others, which both wait for it in vain."""
    store = Unsteady()
    dead = Parking(replayed(log), store, replayable=True)
    first = await within(dead.call())
    async with store.held_after("consume") as gate:
        retry = asyncio.ensure_future(dead.retry(first, {"name": "Ada"}))
        await within(gate.reached.wait())
        await _leave(retry)
    others = [Parking(replayed(log), store, replayable=True, lease=0.2) for _ in range(2)]
    retries = [parking.retry(first, {"name": "Ada"}) for parking in others for _ in range(3)]
    seconds = await within(asyncio.gather(*retries))
    assert all(second == seconds[0] for second in seconds)
    assert log == ["charged"]
    for parking in (dead, *others):
        await within(parking.lot.close())


@pytest.mark.shows("C3", "C6")
@pytest.mark.parametrize("replayable", [True, False])
async def test_a_process_that_works_for_long_keeps_its_round(log: Log, replayable: bool) -> None:
    store = Unsteady()
    go_on = asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        name = await ask(conversation, "name")
        log.append("working")
        await go_on.wait()
        return name

    here = Parking(body, store, replayable=replayable, lease=0.15)
    there = Parking(body, store, replayable=replayable, lease=0.15)
    first = await within(here.call())
    one = asyncio.ensure_future(here.retry(first, {"name": "Ada"}))
    await until(lambda: log == ["working"])
    other = asyncio.ensure_future(there.retry(first, {"name": "Ada"}))
    await asyncio.sleep(0.6)  # several leases long
    go_on.set()
    assert await within(one) == "Ada"
    assert await within(other) == "Ada"
    assert log == ["working"]


@pytest.mark.shows("C3", "C6")
async def test_an_answer_is_not_used_twice_when_the_process_died_between_two_rounds(log: Log) -> None:
    """The next round was written, and that the round before is over was not."""
    store = Unsteady()

    async def body(conversation: Conversation) -> Any:
        return [await ask(conversation, "item", message="Next?") for _ in range(3)]

    dead = Parking(body, store, replayable=True)
    first = await within(dead.call())
    async with store.held_before("settle") as gate:
        retry = asyncio.ensure_future(dead.retry(first, {"item": "apple"}))
        await within(gate.reached.wait())
        other = Parking(body, store, replayable=True, lease=0.05)
        store._before.clear()
        second = await within(other.retry(first, {"item": "apple"}))
        third = await within(other.retry(second, {"item": "pear"}))
        assert "inputRequests" in third
        assert await within(other.retry(third, {"item": "plum"})) == ["apple", "pear", "plum"]
        await _leave(retry)
    await within(dead.lot.close())


async def test_a_clean_stop_leaves_the_questions_of_replayable_bodies_open(log: Log) -> None:
    store = Unsteady()
    here, there = (Parking(one_question(log), store, replayable=True) for _ in range(2))
    first = await within(here.call())
    await within(here.lot.close())
    assert log == ["finally"]
    assert [record.token for record in await store.pending()] == [first["requestState"]]
    assert await within(there.retry(first, {"name": "Ada"})) == "Ada"


async def test_a_body_that_is_over_is_over_in_its_table_too(log: Log) -> None:
    seen: list[Any] = []

    async def body(conversation: Conversation) -> Any:
        seen.append(conversation)
        return await ask(conversation, "name")

    parking = Parking(body)
    first = await within(parking.call())
    assert seen[0].state == "asking"
    await within(parking.retry(first, {"name": "Ada"}))
    assert seen[0].state == "over"
    assert seen[0].current.outcome == Outcome("result", "Ada")
