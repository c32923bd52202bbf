"""A body that never asks, and one at its questions: several at once, nobody who answers, callers that leave, stores
that fail."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Coroutine, Sequence
from typing import Any

import anyio
import pytest
from tests.conversation.parking import (
    ALICE,
    MALLORY,
    Log,
    Parking,
    Run,
    Unsteady,
    ask,
    breathe,
    leave,
    one_question,
    within,
)
from tests.waiting import until

from handraise.conversation import Conversation, Outcome, RoundRecord, SettledError, Store
from handraise.conversation.recorded import Record
from handraise.errors import Expired, StateRefused, StoreError, Withdrawn
from handraise.stores import MemoryStore

# None.


@pytest.fixture
def run(log: Log) -> Run:
    """A body in a lot of its own, that nothing was asked of yet."""
    return Run(Parking(one_question(log)).lot, ALICE)


async def test_nothing_is_left_of_a_body_that_never_asks(run: Run) -> None:
    async def work() -> Any:
        assert run.context is not None
        return "done"

    assert await run.run(work(), contextvars.copy_context()) == "done"
    assert run.context is None
    assert not run.lot.bodies


async def test_a_body_that_waits_for_something_else_is_waited_for(run: Run) -> None:
    ready = asyncio.Event()

    async def work() -> Any:
        await ready.wait()
        return "done"

    given = run.run(work(), contextvars.copy_context())
    assert run.lot.bodies == {run}
    ready.set()
    assert await within(given) == "done"
    assert not run.lot.bodies


async def test_a_task_left_behind_by_a_body_that_never_asked_is_told_that_nobody_can_be_asked(
    run: Run,
) -> None:
    left: list[asyncio.Task[Any]] = []

    async def later() -> Any:
        await asyncio.sleep(0)
        return await ask(run.conversation, "late")

    async def work() -> Any:
        left.append(asyncio.get_running_loop().create_task(later()))

    await run.run(work(), contextvars.copy_context())
    with pytest.raises(Withdrawn, match="the call is over"):
        await within(left[0])
    assert not run.lot.bodies
    assert not run.lot.live


async def _fails() -> Any:
    raise LookupError("no such account")


async def _waits_and_fails() -> Any:
    await asyncio.sleep(0)
    raise LookupError("no such account")


@pytest.mark.parametrize("work", [_fails, _waits_and_fails])
async def test_what_a_body_raises_reaches_its_caller(run: Run, work: Any) -> None:
    body: Coroutine[Any, Any, Any] = work()
    with pytest.raises(LookupError, match="no such account"):
        await within(run.run(body, contextvars.copy_context()))
    assert not run.lot.bodies


@pytest.mark.parametrize("turns", [0, 1])
async def test_a_body_that_cancels_itself_is_withdrawn_and_its_caller_is_not_cancelled(
    run: Run, turns: int
) -> None:
    async def work() -> Any:
        for _ in range(turns):
            await asyncio.sleep(0)
        raise asyncio.CancelledError

    with pytest.raises(Withdrawn):
        await within(run.run(work(), contextvars.copy_context()))


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


async def _hurried(conversation: Conversation, key: str) -> Any:
    """Ask, and give up at once if nobody is there."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.01):
            return await ask(conversation, key, timeout=60)


@pytest.mark.parametrize("late", [False, True], ids=["in time", "after its deadline"])
async def test_a_question_after_one_that_was_given_up_need_not_wait_for_its_round(
    store: Store, late: bool
) -> None:
    async def body(conversation: Conversation) -> Any:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await ask(conversation, "first", timeout=0.05 if late else 60)
        if late:
            await asyncio.sleep(0.1)
        return await ask(conversation, "second")

    parking = Parking(body, store)
    first = await within(parking.call())
    await until(lambda: len(parking.lot.live) == 1 and first["requestState"] not in parking.lot.live)
    second = await within(parking.retry(first, {"first": 1}))
    assert list(second["inputRequests"]) == ["second"]
    assert await within(parking.retry(second, {"second": 2})) == 2
    await until(lambda: parking.is_empty)


async def test_a_sibling_that_waited_for_a_round_goes_out_when_that_is_given_up(store: Store) -> None:
    out = asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        async def later() -> Any:
            await out.wait()
            return await ask(conversation, "later")

        return await asyncio.gather(_hurried(conversation, "first"), later())

    parking = Parking(body, store)
    first = await within(parking.call())
    out.set()
    await until(lambda: first["requestState"] not in parking.lot.live)
    second = await within(parking.retry(first, {"first": 1}))
    assert list(second["inputRequests"]) == ["later"]
    assert await within(parking.retry(second, {"later": 2})) == [None, 2]


async def test_an_answer_to_a_question_that_was_given_up_is_none_to_another_with_its_key(
    store: Store,
) -> None:
    async def body(conversation: Conversation) -> Any:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                return await ask(conversation, "sure", message="Delete the first one?")
        return await ask(conversation, "sure", message="Delete the second one?")

    parking = Parking(body, store)
    first = await within(parking.call())
    await until(lambda: first["requestState"] not in parking.lot.live)
    second = await within(parking.retry(first, {"sure": "yes, the first"}))
    assert second["inputRequests"] == {"sure": {"message": "Delete the second one?"}}
    assert await within(parking.retry(second, {"sure": "no"})) == "no"


class _Ended(BaseException):
    """What no tool should raise."""


async def test_a_body_that_ends_with_more_than_an_exception_leaves_nobody_waiting() -> None:
    async def body(conversation: Conversation) -> Any:
        await ask(conversation, "name")
        raise _Ended

    parking = Parking(body)
    first = await within(parking.call())
    with pytest.raises(_Ended):
        await within(parking.retry(first, {"name": "Ada"}))
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
        await leave(call)
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


@pytest.mark.shows("C2", "C8")
async def test_a_retry_after_the_deadline_gets_what_comes_of_a_body_that_still_works(
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
    for answers, binding in (({}, ALICE), ({"name": "Ada"}, MALLORY)):
        with pytest.raises(StateRefused):
            await within(parking.retry(first, answers, binding))
    late = asyncio.ensure_future(parking.retry(first, {"name": "Ada"}))
    await asyncio.sleep(0)
    go_on.set()
    assert await within(late) == "nobody"
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
    await until(lambda: list(parking.lot.live) not in ([], [first["requestState"]]))
    second = await within(parking.retry(first, {"quick": 1}))
    assert list(second["inputRequests"]) == ["slow"]
    assert await within(parking.retry(second, {"slow": 2})) == 2


@pytest.mark.parametrize("durable", [False, True])
async def test_a_body_goes_on_when_its_time_is_over_before_the_round_was_written(durable: bool) -> None:
    written, over = asyncio.Event(), asyncio.Event()

    class Slow(MemoryStore):
        async def open_round(self, record: RoundRecord, *, events: Sequence[Record] = ()) -> None:
            await written.wait()
            await super().open_round(record, events=events)

    async def body(conversation: Conversation) -> Any:
        try:
            return await ask(conversation, "quick", timeout=0.01)
        except Expired:
            over.set()
            return await ask(conversation, "slow")

    slow = Slow()
    slow.durable = durable  # its rounds are then written by a task of their own
    parking = Parking(body, slow)
    call = asyncio.create_task(parking.call())
    await asyncio.sleep(0.05)
    written.set()
    first = await within(call)
    await within(over.wait())
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
    await leave(call)
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
    await leave(retry)
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
    await leave(one)
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
    await leave(retry)
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
        await leave(retry)
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


# What a body leaves behind.


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
    await anyio.wait_all_tasks_blocked()
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
