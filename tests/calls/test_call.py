"""One call: its states, its questions and their rounds, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from typing import Any, get_args

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import pytest
from tests.calls.bare_server import (
    ALICE,
    MALLORY,
    BareServer,
    Log,
    UnsteadyStore,
    ask,
    ask_after,
    ask_briefly,
    ask_live,
    breathe,
    leave,
    one_question,
    two_questions,
    within,
)
from tests.waiting import until

from handraise.calls import Call, SettledError, Store
from handraise.calls.call import TRANSITIONS, Event, State
from handraise.errors import StateRefused, StoreError, UsageError, Withdrawn

# States.

EVENTS: tuple[Event, ...] = get_args(Event)
TABLE: dict[State, tuple[State | None, ...]] = {
    "working": ("asking", None, None, "over"),
    "asking": (None, "working", "working", "over"),
    "over": (None, None, None, None),
}


@pytest.mark.parametrize("state", get_args(State))
def test_each_event_leads_where_the_table_says(state: State) -> None:
    assert tuple(TRANSITIONS.get((state, event)) for event in EVENTS) == TABLE[state]


async def test_a_call_goes_through_its_states(store: Store) -> None:
    calls: list[Call] = []

    async def tool(call: Call) -> Any:
        calls.append(call)
        assert call.context is not None
        answer = await ask(call, "name")
        assert call.state == "working"
        return answer

    server = BareServer(tool, store)
    first = await within(server.call())
    [call] = calls
    assert call.state == "asking"
    await within(server.retry(first, {"name": "Ada"}))
    assert (call.state, call.context) == ("over", None)


# A handler that does not ask.


async def test_a_call_that_never_asks_leaves_no_trace(store: Store) -> None:
    async def tool(call: Call) -> Any:
        await asyncio.sleep(0)
        return "done"

    server = BareServer(tool, store)
    assert await within(server.call()) == "done"
    assert server.is_empty
    assert await store.prune(float("inf")) == 0


class _Ended(BaseException):
    """An error that no handler should raise."""


@pytest.mark.parametrize(
    ("raised", "seen"), [(LookupError, LookupError), (asyncio.CancelledError, Withdrawn), (_Ended, _Ended)]
)
@pytest.mark.parametrize("asks", [False, True])
async def test_the_error_of_a_handler_reaches_the_request_that_waits(
    raised: type[BaseException], seen: type[BaseException], asks: bool
) -> None:
    """A handler that cancels itself does not cancel the request."""

    async def tool(call: Call) -> Any:
        if asks:
            await ask(call, "name")
        raise raised

    server = BareServer(tool)
    request = server.call()
    if asks:
        request = server.retry(await within(request), {"name": "Ada"})
    with pytest.raises(seen):
        await within(request)
    await until(lambda: server.is_empty)


async def test_a_task_that_outlives_its_handler_cannot_ask(store: Store) -> None:
    over = asyncio.Event()
    tasks: list[asyncio.Task[Any]] = []

    async def tool(call: Call) -> Any:
        tasks.append(asyncio.create_task(ask_after(over, call, "late")))
        tasks.append(asyncio.create_task(ask(call, "forgotten")))
        return await ask(call, "name")

    server = BareServer(tool, store)
    first = await within(server.call())
    assert await within(server.retry(first, {"name": "Ada"})) == "Ada"
    over.set()
    late, forgotten = await within(asyncio.gather(*tasks, return_exceptions=True))
    assert isinstance(late, UsageError)
    assert isinstance(forgotten, Withdrawn)
    await until(lambda: server.is_empty)


# Rounds.


@pytest.mark.shows("C1")
async def test_a_handler_goes_on_where_it_was(store: Store, log: Log) -> None:
    server = BareServer(two_questions(log), store)
    first = await within(server.call())
    assert first["inputRequests"] == {"name": {"message": "name?"}}
    second = await within(server.retry(first, {"name": "Ada"}))
    assert second["inputRequests"] == {"size": {"message": "size?"}}
    assert await within(server.retry(second, {"size": 4})) == {"name": "Ada", "size": 4}
    assert log == ["before", "hello Ada", "size 4"]
    assert server.attached == 2
    await until(lambda: server.is_empty)


@pytest.mark.shows("C5")
async def test_sibling_questions_share_a_round_and_the_rest_of_it_is_asked_again(store: Store) -> None:
    async def tool(call: Call) -> Any:
        return await asyncio.gather(*(ask(call, key) for key in "abc"))

    server = BareServer(tool, store)
    first = await within(server.call())
    assert list(first["inputRequests"]) == ["a", "b", "c"]
    rest = await within(server.retry(first, {"b": 2}))
    assert list(rest["inputRequests"]) == ["a", "c"]
    with pytest.raises(StateRefused):
        await within(server.retry(first, {"a": 1, "b": 2, "c": 3}))
    assert await within(server.retry(rest, {"a": 1, "c": 3})) == [1, 2, 3]


@pytest.mark.parametrize("while_it_is", ["out", "written"])
async def test_a_question_that_comes_while_a_round_is_under_way_goes_with_the_next(while_it_is: str) -> None:
    store, go_on = UnsteadyStore(), asyncio.Event()

    async def tool(call: Call) -> Any:
        return await asyncio.gather(ask(call, "first"), ask_after(go_on, call, "later"))

    server = BareServer(tool, store)
    async with store.held_before("open_round") as gate:
        request = asyncio.create_task(server.call())
        await within(gate.reached.wait())
        if while_it_is == "written":
            go_on.set()
        await breathe()
    first = await within(request)
    go_on.set()
    await breathe()
    assert list(first["inputRequests"]) == ["first"]
    second = await within(server.retry(first, {"first": 1}))
    assert list(second["inputRequests"]) == ["later"]
    assert await within(server.retry(second, {"later": 2})) == [1, 2]


async def test_a_question_that_is_open_is_not_asked_a_second_time(store: Store) -> None:
    async def tool(call: Call) -> Any:
        return await asyncio.gather(ask(call, "name"), ask(call, "name"), return_exceptions=True)

    server = BareServer(tool, store)
    first = await within(server.call())
    answer, refused = await within(server.retry(first, {"name": "Ada"}))
    assert answer == "Ada"
    assert isinstance(refused, UsageError)


async def test_when_a_round_cannot_be_kept_every_asker_is_told() -> None:
    """Also one whose question waits for the next round, and one whose question was left over from a round."""
    store = UnsteadyStore()

    async def tool(call: Call) -> Any:
        questions = (ask(call, "a"), ask(call, "b"), ask_after(gate.reached, call, "later"))
        return await asyncio.gather(*questions, return_exceptions=True)

    server = BareServer(tool, store)
    async with store.held_before("open_round") as gate:
        request = asyncio.create_task(server.call())
        await within(gate.reached.wait())
    first = await within(request)
    store.failing.add("open_round")
    answer, *errors = await within(server.retry(first, {"a": 1}))
    assert answer == 1
    assert [type(error) for error in errors] == [StoreError] * 2
    errors = await within(server.call())
    assert [type(error) for error in errors] == [StoreError] * 3
    await until(lambda: server.is_empty)


# Questions whose asker gave up.


async def _hurried(call: Call, key: str, **how: Any) -> Any:
    """Ask, and give up soon."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.01):
            return await ask(call, key, **how)


@pytest.mark.parametrize("late", [False, True], ids=["in time", "after its deadline"])
async def test_a_question_need_not_wait_for_one_that_was_given_up(store: Store, late: bool) -> None:
    async def tool(call: Call) -> Any:
        await _hurried(call, "sure", message="Delete the first?", timeout=0.05 if late else 60)
        if late:
            await asyncio.sleep(0.1)
        return await ask(call, "sure", message="Delete the second?")

    server = BareServer(tool, store)
    first = await within(server.call())
    await until(lambda: server.calls.live and first["requestState"] not in server.calls.live)
    second = await within(server.retry(first, {"sure": "yes, the first"}))
    assert second["inputRequests"] == {"sure": {"message": "Delete the second?"}}
    assert await within(server.retry(second, {"sure": "no"})) == "no"
    await until(lambda: server.is_empty)


async def test_a_sibling_that_waited_for_a_round_is_sent_when_that_is_given_up(store: Store) -> None:
    async def tool(call: Call) -> Any:
        return await asyncio.gather(_hurried(call, "first"), ask_after(out, call, "later"))

    out = asyncio.Event()
    server = BareServer(tool, store)
    first = await within(server.call())
    out.set()
    await until(lambda: first["requestState"] not in server.calls.live)
    second = await within(server.retry(first, {"first": 1}))
    assert list(second["inputRequests"]) == ["later"]
    assert await within(server.retry(second, {"later": 2})) == [None, 2]


async def test_a_question_given_up_while_its_round_is_written_takes_no_other_with_it() -> None:
    store = UnsteadyStore()

    async def tool(call: Call) -> Any:
        first, other = (asyncio.create_task(ask(call, key)) for key in ("first", "other"))
        await gate.reached.wait()
        await leave(first)
        return await other

    server = BareServer(tool, store)
    async with store.held_before("open_round") as gate:
        request = asyncio.create_task(server.call())
        await within(gate.reached.wait())
        await breathe()
    first = await within(request)
    assert await within(server.retry(first, {"other": 2})) == 2
    await until(lambda: server.is_empty)


# Time.


@pytest.mark.shows("C8")
async def test_when_nobody_answers_in_time_handler_and_late_retry_are_told(store: Store, log: Log) -> None:
    server = BareServer(one_question(log, timeout=0.05), store)
    first = await within(server.call())
    await until(lambda: server.is_empty)
    assert log == ["expired", "finally"]
    with pytest.raises(SettledError, match="Expired"):
        await within(server.retry(first, {"name": "Ada"}))
    with pytest.raises(StateRefused):
        await within(server.retry(first, {"name": "Ada"}, MALLORY))


@pytest.mark.shows("C2", "C8")
async def test_a_retry_after_the_deadline_waits_for_a_handler_that_still_works(store: Store) -> None:
    over, go_on = asyncio.Event(), asyncio.Event()

    async def tool(call: Call) -> Any:
        answer = await ask_briefly(call, "name", over)
        await go_on.wait()
        return answer

    server = BareServer(tool, store)
    first = await within(server.call())
    await within(over.wait())
    for answers, binding in (({}, ALICE), ({"name": "Ada"}, MALLORY)):
        with pytest.raises(StateRefused):
            await within(server.retry(first, answers, binding))
    late = asyncio.create_task(server.retry(first, {"name": "Ada"}))
    await breathe()
    go_on.set()
    assert await within(late) == "nobody"
    await until(lambda: server.is_empty)
    assert await within(server.retry(first, {"name": "Ada"})) == "nobody"


@pytest.mark.parametrize("slow", [False, True], ids=["", "before its round was written"])
async def test_a_handler_may_ask_something_else_when_nobody_answered(slow: bool) -> None:
    store, over = UnsteadyStore(), asyncio.Event()

    async def tool(call: Call) -> Any:
        await ask_briefly(call, "quick", over)
        return await ask(call, "slow")

    server = BareServer(tool, store)
    async with store.held_before("open_round"):
        request = asyncio.create_task(server.call())
        if slow:
            await within(over.wait())
    first = await within(request)
    await within(over.wait())
    second = await within(server.retry(first, {"quick": 1}))
    assert list(second["inputRequests"]) == ["slow"]
    assert await within(server.retry(second, {"slow": 2})) == 2


async def test_one_question_of_a_round_may_expire_while_the_others_wait_on(store: Store) -> None:
    expired = asyncio.Event()

    async def tool(call: Call) -> Any:
        return await asyncio.gather(ask_briefly(call, "quick", expired), ask(call, "slow"))

    server = BareServer(tool, store)
    first = await within(server.call())
    await within(expired.wait())
    await breathe()
    assert await within(server.retry(first, {"quick": 1, "slow": 2})) == ["nobody", 2]


@pytest.mark.shows("C8", "X2")
async def test_a_question_that_expires_while_the_next_round_is_written_goes_on_here() -> None:
    """No other process took it: its siblings go on, and the waiting request gets the next round."""
    store, over = UnsteadyStore(), asyncio.Event()

    async def tool(call: Call) -> Any:
        async def chained() -> Any:
            return [await ask(call, key) for key in ("first", "second")]

        return await asyncio.gather(ask_briefly(call, "quick", over), chained())

    server = BareServer(tool, store)
    first = await within(server.call())
    async with store.held_before("open_round"):
        request = asyncio.create_task(server.retry(first, {"first": 1}))
        await within(over.wait())
    second = await within(request)
    assert await within(server.retry(second, {"second": 2})) == ["nobody", [1, 2]]


async def test_an_answer_that_the_store_took_in_time_is_used_however_slow_the_store_is(log: Log) -> None:
    store = UnsteadyStore()
    server = BareServer(one_question(log, timeout=0.1), store)
    first = await within(server.call())
    async with store.held_after("consume") as gate:
        request = asyncio.create_task(server.retry(first, {"name": "Ada"}))
        await within(gate.reached.wait())
        await asyncio.sleep(0.3)  # the deadline passes while the store still writes
    assert await within(request) == "Ada"
    assert log == ["finally", "hello Ada"]


# Endings: the client leaves.


async def _left(server: BareServer, is_ready: Callable[[], bool]) -> None:
    """Call, and hang up when the handler has got there."""
    request = asyncio.create_task(server.call())
    await until(is_ready)
    await leave(request)


async def test_a_handler_that_is_at_no_question_is_cancelled_at_once(log: Log) -> None:
    async def tool(call: Call) -> Any:
        log.append("working")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    server = BareServer(tool, linger=60)
    await _left(server, lambda: log == ["working"])
    await until(lambda: server.is_empty)
    assert log == ["working", "cancelled"]


@pytest.mark.shows("C8")
async def test_every_open_question_raises_withdrawn_and_the_handler_may_clean_up(log: Log) -> None:
    async def tool(call: Call) -> Any:
        async def one(key: str) -> None:
            try:
                await ask_live(call, key)
            except Withdrawn:
                await asyncio.sleep(0.01)
                log.append(f"cleaned up {key}")
                raise

        await asyncio.gather(*map(one, "ab"), return_exceptions=True)
        log.append("after")

    server = BareServer(tool, linger=60)
    await _left(server, lambda: any(len(call.questions) == 2 for call in server.calls.running))
    await within(server.calls.join_left())
    assert sorted(log) == ["after", "cleaned up a", "cleaned up b"]
    assert server.is_empty


@pytest.mark.parametrize("at", ["a question", "other work"])
async def test_withdrawn_arrives_before_the_cancellation_also_when_nothing_lingers(log: Log, at: str) -> None:
    async def tool(call: Call) -> Any:
        async def one() -> None:
            try:
                if at == "a question":
                    await ask_live(call, "name")
                async with call.at_question():
                    log.append("waiting")
                    await call.unless_left(asyncio.Event().wait())
            except Withdrawn:
                log.append("withdrawn")

        await asyncio.gather(one())
        await asyncio.Event().wait()

    server = BareServer(tool, linger=0)
    await _left(server, lambda: bool(log) or any(call.questions for call in server.calls.running))
    await until(lambda: server.is_empty)
    assert log[-1] == "withdrawn"


async def test_a_handler_that_cleans_up_for_too_long_is_cancelled(log: Log) -> None:
    async def tool(call: Call) -> Any:
        try:
            await ask_live(call, "name")
        except Withdrawn:
            log.append("withdrawn")
        try:
            await asyncio.Event().wait()
        finally:
            log.append("cancelled")

    server = BareServer(tool, linger=0.05)
    await _left(server, lambda: any(call.questions for call in server.calls.running))
    await until(lambda: server.is_empty)
    assert log == ["withdrawn", "cancelled"]


@pytest.mark.parametrize("asks", [ask, ask_live])
async def test_a_handler_that_asks_again_after_withdrawn_is_cancelled(
    log: Log, asks: Callable[[Call, str], Awaitable[Any]]
) -> None:
    async def tool(call: Call) -> Any:
        try:
            with contextlib.suppress(Withdrawn):
                await ask_live(call, "name")
            log.append("withdrawn")
            while True:  # nothing else in it lets other tasks run
                with contextlib.suppress(Withdrawn):
                    await asks(call, "again")
        finally:
            log.append("cancelled")

    server = BareServer(tool, linger=60)
    await _left(server, lambda: any(call.questions for call in server.calls.running))
    await until(lambda: server.is_empty)
    assert log == ["withdrawn", "cancelled"]


async def test_a_question_whose_client_leaves_while_it_is_written_is_asked_of_nobody(log: Log) -> None:
    store = UnsteadyStore()
    server = BareServer(one_question(log), store)
    async with store.held_before("open_round") as gate:
        request = asyncio.create_task(server.call())
        await within(gate.reached.wait())
        await leave(request)
        await until(lambda: log == ["withdrawn", "finally"])
    await until(lambda: server.is_empty)
    assert await store.pending() == []


async def test_other_work_at_a_question_ends_when_the_client_leaves(log: Log) -> None:
    async def browser() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            log.append("closed")

    async def tool(call: Call) -> Any:
        async with call.at_question():
            assert await call.unless_left(asyncio.sleep(0, "finished")) == "finished"
            with pytest.raises(LookupError):
                await call.unless_left(_fails())
            log.append("waiting")
            try:
                await call.unless_left(browser())
            except Withdrawn:
                log.append("withdrawn")
            with pytest.raises(Withdrawn):
                await call.unless_left(browser())

    server = BareServer(tool, linger=60)
    await _left(server, lambda: log == ["waiting"])
    await until(lambda: server.is_empty and len(log) == 3)
    assert sorted(log) == ["closed", "waiting", "withdrawn"]


async def _fails() -> None:
    raise LookupError


@pytest.mark.parametrize("kind", ["shield", "worker thread"])
async def test_a_handler_is_cancelled_when_its_shielded_part_or_thread_has_finished(
    log: Log, kind: str
) -> None:
    go_on = threading.Event()

    def work() -> None:
        log.append("working")
        go_on.wait(10)
        log.append("finished")

    async def tool(call: Call) -> Any:
        if kind == "worker thread":
            await anyio.to_thread.run_sync(work)
        else:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(work)
        await anyio.lowlevel.checkpoint()
        log.append("went on")

    server = BareServer(tool)
    await _left(server, lambda: log == ["working"])
    await breathe()
    assert server.calls.running
    go_on.set()
    await until(lambda: server.is_empty)
    assert log == ["working", "finished"]


async def test_a_question_of_a_worker_thread_raises_withdrawn_there(log: Log) -> None:
    async def tool(call: Call) -> Any:
        def work() -> None:
            try:
                anyio.from_thread.run(ask_live, call, "name")
            except Withdrawn:
                log.append("withdrawn")

        await anyio.to_thread.run_sync(work)
        log.append("after")

    server = BareServer(tool)
    await _left(server, lambda: any(call.questions for call in server.calls.running))
    await until(lambda: server.is_empty)
    assert log == ["withdrawn", "after"]


# Endings: the client leaves after an answer was used.


def _works_on(log: Log, go_on: asyncio.Event) -> Callable[[Call], Awaitable[Any]]:
    async def tool(call: Call) -> Any:
        name = await ask(call, "name")
        log.append("working")
        try:
            await go_on.wait()
        finally:
            log.append("finally")
        return name

    return tool


@pytest.mark.parametrize("returns", [True, False])
async def test_a_call_lingers_for_the_same_retry(store: Store, log: Log, returns: bool) -> None:
    go_on = asyncio.Event()
    server = BareServer(_works_on(log, go_on), store, linger=60 if returns else 0.05)
    first = await within(server.call())
    request = asyncio.create_task(server.retry(first, {"name": "Ada"}))
    await until(lambda: log == ["working"])
    await leave(request)
    if returns:
        again = asyncio.create_task(server.retry(first, {"name": "Ada"}))
        await breathe()
        go_on.set()
        assert await within(again) == "Ada"
    else:
        await until(lambda: server.is_empty)
        with pytest.raises(SettledError, match="Withdrawn"):
            await within(server.retry(first, {"name": "Ada"}))
    assert log == ["working", "finally"]
    await until(lambda: server.is_empty)


async def test_a_call_goes_on_while_one_of_its_requests_waits(log: Log) -> None:
    go_on = asyncio.Event()
    server = BareServer(_works_on(log, go_on), linger=0.0)
    first = await within(server.call())
    one, other = (asyncio.create_task(server.retry(first, {"name": "Ada"})) for _ in range(2))
    await until(lambda: server.calls.live[first["requestState"]][1].waiters == 2)
    await leave(one)
    await asyncio.sleep(0.02)
    go_on.set()
    assert await within(other) == "Ada"


async def test_a_question_asked_while_the_call_lingers_is_there_for_the_same_retry(store: Store) -> None:
    working, go_on = asyncio.Event(), asyncio.Event()

    async def tool(call: Call) -> Any:
        await ask(call, "first")
        working.set()
        await go_on.wait()
        return await ask(call, "second")

    server = BareServer(tool, store, linger=0.1)
    first = await within(server.call())
    request = asyncio.create_task(server.retry(first, {"first": 1}))
    await within(working.wait())
    await leave(request)
    go_on.set()
    second = await within(server.retry(first, {"first": 1}))
    await asyncio.sleep(0.2)  # longer than it lingers
    assert await within(server.retry(second, {"second": 2})) == 2


@pytest.mark.shows("C3")
async def test_an_answer_whose_retry_was_cut_off_at_the_store_is_not_lost(log: Log) -> None:
    store = UnsteadyStore()
    server = BareServer(one_question(log), store)
    first = await within(server.call())
    async with store.held_after("consume") as gate:
        request = asyncio.create_task(server.retry(first, {"name": "Ada"}))
        await within(gate.reached.wait())
        await leave(request)
    assert log == []
    outcomes = await within(asyncio.gather(*(server.retry(first, {"name": "Ada"}) for _ in range(3))))
    assert outcomes == ["Ada"] * 3
    assert log == ["finally", "hello Ada"]
