"""The registry: retries find their call, once; handlers that are gone are replayed; what is over is removed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.calls.bare_server import (
    ALICE,
    MALLORY,
    BareCall,
    BareServer,
    Log,
    Tool,
    UnsteadyStore,
    ask,
    ask_after,
    ask_briefly,
    breathe,
    leave,
    once,
    one_question,
    take_and_die,
    two_questions,
    within,
)
from tests.waiting import until

from handraise.calls import TOKEN_PREFIX, Call, RoundRecord, SettledError, Store, registry
from handraise.calls.ledger_tables import Record
from handraise.calls.rounds import digest
from handraise.errors import Ambiguous, NoRoom, NotReplayable, StateRefused, Withdrawn
from handraise.stores import MemoryStore
from handraise.testing.part_contracts import a_round

# Single use.


@pytest.mark.shows("C3")
async def test_eight_identical_retries_at_once_have_one_effect_and_one_outcome(
    store: Store, log: Log
) -> None:
    server = BareServer(two_questions(log), store)
    first = await within(server.call())
    seconds = await within(asyncio.gather(*(server.retry(first, {"name": "Ada"}) for _ in range(8))))
    assert all(second == seconds[0] for second in seconds)
    ends = await within(asyncio.gather(*(server.retry(seconds[0], {"size": 4}) for _ in range(8))))
    assert ends == [{"name": "Ada", "size": 4}] * 8
    assert log == ["before", "hello Ada", "size 4"]
    assert server.attached == 2


@pytest.mark.shows("C3")
async def test_of_different_retries_at_once_one_is_used_and_the_others_are_refused(
    store: Store, log: Log
) -> None:
    server = BareServer(one_question(log), store)
    first = await within(server.call())
    retries = (server.retry(first, {"name": number}) for number in range(8))
    outcomes = await within(asyncio.gather(*retries, return_exceptions=True))
    [used] = [outcome for outcome in outcomes if isinstance(outcome, int)]
    assert sum(isinstance(outcome, StateRefused) for outcome in outcomes) == 7
    assert log == ["finally", f"hello {used}"]


@pytest.mark.shows("C3")
async def test_a_late_retry_gets_the_same_outcome_and_a_different_one_is_refused(
    store: Store, log: Log
) -> None:
    server = BareServer(two_questions(log), store)
    first = await within(server.call())
    second = await within(server.retry(first, {"name": "Ada"}))
    assert await within(server.retry(first, {"name": "Ada"})) == second
    end = await within(server.retry(second, {"size": 4}))
    assert await within(server.retry(first, {"name": "Ada"})) == second
    assert await within(server.retry(second, {"size": 4})) == end
    for round_, answers in ((first, {"name": "Eve"}), (second, {"size": 5}), (second, {"size": True})):
        with pytest.raises(StateRefused):
            await within(server.retry(round_, answers))
    assert log == ["before", "hello Ada", "size 4"]


@pytest.mark.shows("C3")
async def test_a_late_retry_gets_the_same_error(store: Store) -> None:
    async def tool(call: Call) -> Any:
        await ask(call, "name")
        raise ZeroDivisionError("no")

    server = BareServer(tool, store)
    first = await within(server.call())
    with pytest.raises(ZeroDivisionError):
        await within(server.retry(first, {"name": "Ada"}))
    with pytest.raises(SettledError) as late:
        await within(server.retry(first, {"name": "Ada"}))
    assert late.value.error == {"message": "ZeroDivisionError: no"}


@pytest.mark.shows("C3")
async def test_a_slow_retry_does_not_answer_the_next_question_with_the_same_key() -> None:
    async def tool(call: Call) -> Any:
        return [await ask(call, "next"), await ask(call, "next")]

    store = UnsteadyStore()
    server = BareServer(tool, store)
    first = await within(server.call())
    async with store.held_after("consume") as gate:
        slow = asyncio.create_task(server.retry(first, {"next": 1}))
        await within(gate.reached.wait())
        store.let_others_through()
        second = await within(server.retry(first, {"next": 1}))
    assert await within(slow) == second
    assert await within(server.retry(second, {"next": 2})) == [1, 2]


@pytest.mark.shows("C5")
async def test_a_retry_without_an_answer_gets_the_same_round_and_uses_nothing_up(
    store: Store, log: Log
) -> None:
    server = BareServer(one_question(log), store)
    first = await within(server.call())
    assert await within(server.retry(first, {})) == first
    assert await within(server.retry(first, {"unknown": "x"})) == first
    assert log == []
    assert await within(server.retry(first, {"name": "Ada", "unknown": "x"})) == "Ada"


@pytest.mark.shows("C3", "G5")
async def test_the_events_of_an_answer_are_made_from_its_call_or_when_that_ends_from_its_round() -> None:
    store, made_from = UnsteadyStore(), list[type]()

    class Told(BareCall):
        def record_taken(self, of: Call | RoundRecord, answers: Mapping[str, Any]) -> Sequence[Record]:
            made_from.append(type(of))
            return ()

    server = BareServer(one_question(Log()), store)
    first = await within(server.call())

    def retry() -> asyncio.Task[Any]:
        resumed = server.calls.resume(Told(server, ALICE), first["requestState"], {"name": "Ada"})
        return asyncio.create_task(resumed)

    async with store.held_before("settle") as gate:
        one = retry()
        await within(gate.reached.wait())
        two = retry()
        await until(lambda: len(made_from) == 2)
    assert await within(one) == await within(two) == "Ada"
    assert made_from == [BareCall, RoundRecord]


# Retries that do not belong here.


@pytest.mark.shows("C2")
async def test_a_state_is_short_random_and_ours(log: Log) -> None:
    server = BareServer(one_question(log))
    states = {(await server.call())["requestState"] for _ in range(50)}
    assert len(states) == 50
    assert all(state.startswith(TOKEN_PREFIX) and len(state) <= 64 for state in states)
    await server.close()


@pytest.mark.shows("C2", "C3")
async def test_a_retry_that_does_not_belong_here_is_refused_and_the_round_stays_open(
    store: Store, log: Log
) -> None:
    server = BareServer(one_question(log), store)
    first = await within(server.call())
    state = first["requestState"]
    foreign = [MALLORY, ALICE._replace(target="delete"), ALICE._replace(arguments=digest("other"))]
    for binding in foreign:
        for answers in ({"name": "Eve"}, {}, {"other": 1}):
            with pytest.raises(StateRefused):
                await within(server.retry(state, answers, binding))
    for forged in (state + "x", state[:-1], TOKEN_PREFIX, TOKEN_PREFIX + "A" * 24, state.swapcase()):
        for answers in ({"name": "Eve"}, {}):
            with pytest.raises(StateRefused):
                await within(server.retry(forged, answers))
    assert log == []
    assert await within(server.retry(first, {"name": "Ada"})) == "Ada"


@pytest.mark.shows("C2")
@pytest.mark.parametrize("rubbish", ["\ud800", "\0", "hr1.'; DROP TABLE rounds"])
async def test_a_state_that_is_no_text_is_refused_like_any_other(
    store: Store, log: Log, rubbish: str
) -> None:
    server = BareServer(one_question(log), store)
    for state in (TOKEN_PREFIX + rubbish, rubbish):
        with pytest.raises(StateRefused):
            await within(server.retry(state, {"name": "Eve"}))


@pytest.mark.shows("C2")
async def test_a_state_that_is_longer_than_any_of_ours_never_reaches_the_store(log: Log) -> None:
    store = UnsteadyStore()
    store.failing = {"find_round", "consume"}
    server = BareServer(one_question(log), store)
    for length in (64, 1_000_000):
        with pytest.raises(StateRefused):
            await within(server.retry(TOKEN_PREFIX + "0" * length, {"name": "Eve"}))


@pytest.mark.shows("C3")
async def test_answers_to_another_round_are_not_used(store: Store, log: Log) -> None:
    server = BareServer(two_questions(log), store)
    ada, bob = await within(server.call()), await within(server.call())
    second = await within(server.retry(ada, {"name": "Ada"}))
    assert await within(server.retry(bob, {"size": 4})) == bob
    assert await within(server.retry(second, {"name": "Bob"})) == second
    assert log == ["before", "before", "hello Ada"]
    await server.close()


# Handlers that are gone, and run again.


def charges_once(log: Log) -> Tool:
    """A tool with a `once` step between its questions."""

    async def tool(call: Call) -> Any:
        log.append("run")
        name = await ask(call, "name")

        def charge() -> str:
            log.append("charged")
            return f"receipt of {name}"

        receipt = await once(call, "charge", charge)
        return [receipt, await ask(call, "size")]

    return tool


@pytest.mark.shows("C3", "C6")
async def test_a_handler_that_is_ended_at_each_question_is_replayed_once_for_each_answer(
    store: Store, log: Log
) -> None:
    server = BareServer(charges_once(log), store, replayable=True, forget_handlers=True)
    first = await within(server.call())
    await until(lambda: server.is_empty)
    seconds = await within(asyncio.gather(*(server.retry(first, {"name": "Ada"}) for _ in range(8))))
    assert seconds == [seconds[0]] * 8
    await until(lambda: server.is_empty)
    ends = await within(asyncio.gather(*(server.retry(seconds[0], {"size": 4}) for _ in range(8))))
    assert ends == [["receipt of Ada", 4]] * 8
    assert log == ["run", "run", "charged", "run"]
    assert await within(server.retry(first, {"name": "Ada"})) == seconds[0]
    await until(lambda: server.is_empty)


@pytest.mark.shows("C5", "C6")
async def test_a_replayed_handler_keeps_the_answers_of_a_round_and_asks_for_the_rest(store: Store) -> None:
    async def tool(call: Call) -> Any:
        return await asyncio.gather(*(ask(call, key) for key in "abc"))

    server = BareServer(tool, store, replayable=True, forget_handlers=True)
    first = await within(server.call())
    second = await within(server.retry(first, {"c": 3, "b": 2}))
    assert list(second["inputRequests"]) == ["a"]
    assert await within(server.retry(second, {"a": 1})) == [1, 2, 3]


@pytest.mark.shows("C6", "C8")
async def test_a_question_that_nobody_answered_stays_unanswered_in_a_replay(log: Log) -> None:
    async def tool(call: Call) -> Any:
        log.append(await ask_briefly(call, "quick", asyncio.Event()))
        return await ask(call, "slow")

    store = UnsteadyStore()
    here, there = (BareServer(tool, store, replayable=True) for _ in range(2))
    first = await within(here.call())
    await until(lambda: here.calls.live and first["requestState"] not in here.calls.live)
    second = await within(here.retry(first, {"quick": 1}))
    assert await within(there.retry(second, {"slow": 2})) == 2
    assert log == ["nobody", "nobody"]
    await here.close()


async def test_a_handler_that_is_ended_at_its_question_asks_nothing_more() -> None:
    """A sibling that asked while the round was written is asked by the replay, and not by a round of its own."""
    store, tasks = UnsteadyStore(), list[asyncio.Task[Any]]()

    async def tool(call: Call) -> Any:
        questions = (ask(call, "first"), ask_after(gate.reached, call, "later"))
        tasks.extend(map(asyncio.create_task, questions))
        try:
            await asyncio.wait(tasks)
        finally:
            await breathe(50)  # it cleans up

    server = BareServer(tool, store, replayable=True, forget_handlers=True)
    async with store.held_before("open_round") as gate:
        request = asyncio.create_task(server.call())
        await within(gate.reached.wait())
        await breathe()
    first = await within(request)
    ends = await within(asyncio.gather(*tasks, return_exceptions=True))
    assert [type(end) for end in ends] == [Withdrawn] * 2
    await until(lambda: server.is_empty)
    assert [record.token for record in await store.pending()] == [first["requestState"]]


# Handlers that are gone, and may not run again.


@pytest.mark.shows("C6")
async def test_a_handler_that_is_gone_and_not_replayable_is_not_run_and_did_nothing_yet(log: Log) -> None:
    store = UnsteadyStore()
    here, there = (BareServer(one_question(log), store) for _ in range(2))
    first = await within(here.call())
    with pytest.raises(NotReplayable) as refused:
        await within(there.retry(first, {"name": "Ada"}))
    assert type(refused.value) is NotReplayable
    assert log == []
    for server in (there, here):
        with pytest.raises(SettledError, match="NotReplayable"):
            await within(server.retry(first, {"name": "Ada"}))
    await until(lambda: here.is_empty)
    assert log == ["withdrawn", "finally"]


@pytest.mark.shows("C6")
@pytest.mark.parametrize("did", ["used an answer", "was given this answer", "did a step"])
async def test_what_a_handler_did_that_is_gone_and_not_replayable_is_ambiguous(log: Log, did: str) -> None:
    store = UnsteadyStore()

    async def tool(call: Call) -> Any:
        if did == "did a step":
            await once(call, "step", lambda: log.append("step"))
        return await two_questions(log)(call)

    here = BareServer(tool, store, replayable=did == "did a step")
    there = BareServer(tool, store, lease=0.0)
    round_, answers = await within(here.call()), {"name": "Ada"}
    if did == "used an answer":
        round_, answers = await within(here.retry(round_, answers)), {"size": "large"}
    elif did == "was given this answer":
        await take_and_die(there, store, round_, answers)
    before = list(log)
    with pytest.raises(Ambiguous):
        await within(there.retry(round_, answers))
    assert log == before
    await here.close()


# Several processes.


@pytest.mark.shows("C6")
async def test_another_process_goes_on_with_a_replayable_handler(log: Log) -> None:
    store = UnsteadyStore()
    here, there = (BareServer(charges_once(log), store, replayable=True) for _ in range(2))
    first = await within(here.call())
    second = await within(there.retry(first, {"name": "Ada"}))
    assert await within(here.retry(second, {"size": 4})) == ["receipt of Ada", 4]
    assert log.count("charged") == 1
    for server in (here, there):
        assert await within(server.retry(second, {"size": 4})) == ["receipt of Ada", 4]
        for answers, binding in (({"size": 5}, ALICE), ({"size": 4}, MALLORY)):
            with pytest.raises(StateRefused):
                await within(server.retry(second, answers, binding))
    for server in (here, there):
        await server.close()


@pytest.mark.shows("C6")
@pytest.mark.parametrize("learns", ["at its deadline", "from the same retry"])
async def test_a_handler_whose_answer_another_process_took_ends_and_never_hears_expired(
    log: Log, learns: str
) -> None:
    timeout = 0.1 if learns == "at its deadline" else 60.0
    store = UnsteadyStore()
    here, there = (BareServer(one_question(log, timeout=timeout), store, replayable=True) for _ in range(2))
    first = await within(here.call())
    assert await within(there.retry(first, {"name": "Ada"})) == "Ada"
    if learns == "from the same retry":
        assert await within(here.retry(first, {"name": "Ada"})) == "Ada"
    await until(lambda: here.is_empty)
    assert log == ["finally", "hello Ada", "finally"]


@pytest.mark.shows("C6", "C8")
async def test_no_round_is_written_over_one_whose_answer_another_process_took_at_its_deadline(
    log: Log,
) -> None:
    """A sibling asks while the store is asked whether the question that expires was answered."""
    store, asks = UnsteadyStore(), asyncio.Event()

    async def tool(call: Call) -> Any:
        return await asyncio.gather(ask(call, "quick", timeout=0.1), ask_after(asks, call, "later"))

    here, dead, other = (BareServer(tool, store, replayable=True, lease=0.0) for _ in range(3))
    first = await within(here.call())
    await take_and_die(dead, store, first, {"quick": 1})
    async with store.held_before("close_round") as gate:
        await within(gate.reached.wait())
        asks.set()
        await breathe(50)
    await until(lambda: here.is_empty)
    second = await within(other.retry(first, {"quick": 1}))
    assert list(second["inputRequests"]) == ["later"]
    assert await within(other.retry(second, {"later": 2})) == [1, 2]


async def test_a_handler_whose_call_another_process_ended_asks_nothing_more(log: Log) -> None:
    """It is not replayable: it hears `Withdrawn`, and when it asks again all the same it is cancelled."""

    async def tool(call: Call) -> Any:
        while True:
            try:
                await ask(call, "name")
            except Withdrawn:
                log.append("withdrawn")

    store = UnsteadyStore()
    here, there = (BareServer(tool, store) for _ in range(2))
    first = await within(here.call())
    with pytest.raises(NotReplayable):
        await within(there.retry(first, {"name": "Ada"}))
    with pytest.raises(SettledError):
        await within(here.retry(first, {"name": "Ada"}))
    await until(lambda: here.is_empty)
    assert log == ["withdrawn"]
    assert await store.pending() == []


def works_after_its_answer(log: Log, go_on: asyncio.Event) -> Tool:
    async def tool(call: Call) -> Any:
        name = await ask(call, "name")
        log.append("working")
        await go_on.wait()
        return name

    return tool


@pytest.mark.shows("C3", "C6")
@pytest.mark.parametrize("replayable", [True, False])
@pytest.mark.parametrize("fails", [True, False])
async def test_a_process_that_works_for_long_keeps_its_lease_also_when_the_store_fails_once(
    log: Log, replayable: bool, fails: bool
) -> None:
    store, go_on = UnsteadyStore(), asyncio.Event()
    tool = works_after_its_answer(log, go_on)
    here, there = (BareServer(tool, store, replayable=replayable, lease=1.2) for _ in range(2))
    first = await within(here.call())
    one = asyncio.create_task(here.retry(first, {"name": "Ada"}))
    await until(lambda: log == ["working"])
    if fails:
        store.failing.add("hold_round")
        await asyncio.sleep(0.6)  # one renewal fails
        store.failing.clear()
    other = asyncio.create_task(there.retry(first, {"name": "Ada"}))
    await asyncio.sleep(2.5)  # more than two leases
    go_on.set()
    assert list(await within(asyncio.gather(one, other))) == ["Ada", "Ada"]
    assert log == ["working"]


@pytest.mark.shows("C6")
@pytest.mark.parametrize("replayable", [True, False])
async def test_a_suspended_handler_goes_on_when_the_process_that_took_its_answer_is_gone(
    log: Log, replayable: bool
) -> None:
    store = UnsteadyStore()
    here = BareServer(one_question(log), store, replayable=replayable, lease=0.1)
    there = BareServer(one_question(log), store, replayable=replayable)
    first = await within(here.call())
    await take_and_die(there, store, first, {"name": "Ada"})
    assert await within(here.retry(first, {"name": "Ada"})) == "Ada"
    assert log == ["finally", "hello Ada"]


@pytest.mark.shows("C3", "C6")
async def test_an_answer_is_not_used_twice_when_a_process_dies_between_two_rounds() -> None:
    """The next round was written; the outcome of the round before was not."""

    async def tool(call: Call) -> Any:
        return [await ask(call, "item", message="Next?") for _ in range(3)]

    store = UnsteadyStore()
    dead, other = (
        BareServer(tool, store, replayable=True),
        BareServer(tool, store, replayable=True, lease=0.05),
    )
    first = await within(dead.call())
    async with store.held_before("settle") as gate:
        dies = asyncio.create_task(dead.retry(first, {"item": "apple"}))
        await within(gate.reached.wait())
        store.let_others_through()
        second = await within(other.retry(first, {"item": "apple"}))
        third = await within(other.retry(second, {"item": "pear"}))
        assert await within(other.retry(third, {"item": "plum"})) == ["apple", "pear", "plum"]
        await leave(dies)
    await dead.close()


# Steps.


@pytest.mark.shows("C6")
async def test_a_finished_step_is_written_though_its_task_is_cancelled(log: Log) -> None:
    store, stopped = UnsteadyStore(), asyncio.Event()

    async def tool(call: Call) -> Any:
        await ask(call, "name")
        step = asyncio.create_task(once(call, "charge", lambda: log.append("charged")))
        await gate.reached.wait()
        await leave(step)
        stopped.set()
        await asyncio.Event().wait()

    server = BareServer(tool, store, replayable=True)
    first = await within(server.call())
    async with store.held_before("append") as gate:
        request = asyncio.create_task(server.retry(first, {"name": "Ada"}))
        await within(stopped.wait())
    await breathe()
    found = await store.find_round(first["requestState"])
    assert [entry.key for entry in found.journal] == ["charge", "name"]
    await leave(request)
    await server.close()


@pytest.mark.shows("C6")
async def test_a_step_that_ends_while_a_round_is_written_is_in_the_journal(log: Log) -> None:
    store, asked = UnsteadyStore(), asyncio.Event()

    async def tool(call: Call) -> Any:
        async def step() -> Any:
            await asked.wait()
            return await once(call, "charge", lambda: log.append("charged"))

        await ask(call, "first")
        return await asyncio.gather(ask(call, "name"), step())

    server = BareServer(tool, store, replayable=True)
    first = await within(server.call())
    async with store.held_before("open_round") as gate:
        request = asyncio.create_task(server.retry(first, {"first": 1}))
        await within(gate.reached.wait())
        asked.set()
        await until(lambda: log == ["charged"])
        await breathe()
    second = await within(request)
    found = await store.find_round(second["requestState"])
    assert {entry.key for entry in found.journal} == {"first", "charge"}
    await server.close()


def charges_while_asking(log: Log, go_on: asyncio.Event) -> Tool:
    async def charge() -> str:
        log.append("charging")
        await go_on.wait()
        log.append("charged")
        return "receipt"

    async def tool(call: Call) -> Any:
        return await asyncio.gather(ask(call, "name"), once(call, "charge", charge))

    return tool


@pytest.mark.shows("C6")
@pytest.mark.parametrize("why", ["the server stops", "handlers are ended"])
async def test_a_handler_is_not_ended_in_the_middle_of_a_step(log: Log, why: str) -> None:
    store, go_on = UnsteadyStore(), asyncio.Event()
    tool, stops = charges_while_asking(log, go_on), why == "the server stops"
    here = BareServer(tool, store, replayable=True, forget_handlers=not stops)
    there = BareServer(tool, store, replayable=True)
    first = await within(here.call())
    await breathe()
    closing = asyncio.create_task(here.close() if stops else asyncio.sleep(0))
    await breathe()
    assert log == ["charging"]
    go_on.set()
    await within(closing)
    await until(lambda: here.is_empty)
    assert await within(there.retry(first, {"name": "Ada"})) == ["Ada", "receipt"]
    assert log == ["charging", "charged"]


async def test_a_handler_that_waits_for_its_step_before_it_is_ended_takes_an_answer(log: Log) -> None:
    go_on = asyncio.Event()
    tool = charges_while_asking(log, go_on)
    server = BareServer(tool, UnsteadyStore(), replayable=True, forget_handlers=True)
    first = await within(server.call())
    request = asyncio.create_task(server.retry(first, {"name": "Ada"}))
    await breathe(50)
    go_on.set()
    assert await within(request) == ["Ada", "receipt"]
    assert log == ["charging", "charged"]


# Room, and what is over.


async def test_no_more_calls_wait_than_there_is_room_for(store: Store, log: Log) -> None:
    server = BareServer(two_questions(log), store, max_parked=2)
    first, _ = await within(server.call()), await within(server.call())
    with pytest.raises(NoRoom, match="2 questions wait"):
        await within(server.call())
    second = await within(server.retry(first, {"name": "Ada"}))  # it makes room for its own next question
    await within(server.retry(second, {"size": 4}))
    await within(server.call())
    await server.close()


@pytest.mark.shows("C9", "S6")
async def test_nothing_is_left_when_the_retry_window_is_over(store: Store) -> None:
    async def tool(call: Call) -> Any:
        kind = await ask(call, "kind", timeout=0.3)
        if kind == "fails":
            raise ZeroDivisionError
        if kind == "asks on":
            return await asyncio.gather(*(ask(call, key) for key in "ab"))
        return kind

    server = BareServer(tool, store, retry_window=0.2, linger=0.05)
    for kind in ("ends", "fails", "asks on", "is dropped"):
        first = await within(server.call())
        if kind == "is dropped":
            continue
        with contextlib.suppress(ZeroDivisionError):
            second = await within(server.retry(first, {"kind": kind}))
            if kind == "asks on":
                third = await within(server.retry(second, {"a": 1}))
                assert await within(server.retry(third, {"b": 2})) == [1, 2]
    await until(lambda: server.is_empty and server.calls._pruning is None)
    assert await store.prune(float("inf")) == 0
    if isinstance(store, MemoryStore):
        assert not store._rows
        assert not store._tokens
        assert not store._journals


async def test_what_an_earlier_process_left_is_removed_while_nobody_asks(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_PRUNE_EVERY", 0.02)
    store = UnsteadyStore()
    server = BareServer(one_question(log), store)
    for token in ("hr1.at-the-start", "hr1.later"):
        await store.open_round(a_round(token))
        if token == "hr1.at-the-start":
            server.calls.open()
        await until(lambda: not store.inner._rows)
        await until(lambda: server.is_empty)
    await server.close()


# A store that fails.


async def test_a_store_that_cannot_prune_is_asked_again(log: Log, caplog: pytest.LogCaptureFixture) -> None:
    store = UnsteadyStore()
    server = BareServer(one_question(log), store, retry_window=0.05)
    first = await within(server.call())
    store.failing.add("prune")
    await within(server.retry(first, {"name": "Ada"}))
    await until(lambda: "the disk is full" in caplog.text)
    store.failing.clear()
    await until(lambda: not store.inner._rows)
    await server.close()


async def test_a_store_that_fails_at_the_end_leaves_no_request_waiting(
    log: Log, caplog: pytest.LogCaptureFixture
) -> None:
    store = UnsteadyStore()
    server = BareServer(one_question(log), store)
    first, _ = await within(server.call()), await within(server.call())
    store.failing |= {"settle", "end", "prune"}
    assert await within(server.retry(first, {"name": "Ada"})) == "Ada"
    await server.close()
    assert log == ["finally", "hello Ada", "withdrawn", "finally"]
    assert caplog.text.count("the disk is full") == 3
    await until(lambda: server.is_empty)


@pytest.mark.parametrize("replayable", [True, False])
async def test_a_round_that_could_not_be_settled_goes_on_and_is_settled_later(
    log: Log, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, replayable: bool
) -> None:
    monkeypatch.setattr(registry, "_RETRY_AFTER", 0.02)
    store = UnsteadyStore()
    server = BareServer(two_questions(log), store, replayable=replayable, lease=0.05)
    first = await within(server.call())
    store.failing.add("settle")
    second = await within(server.retry(first, {"name": "Ada"}))
    assert second["inputRequests"] == {"size": {"message": "size?"}}
    assert "the disk is full" in caplog.text
    await asyncio.sleep(0.1)  # longer than the lease
    assert await within(server.retry(first, {"name": "Ada"})) == second
    store.failing.clear()
    await until(lambda: len(server.calls.live) == 1)
    assert await within(server.retry(second, {"size": 4})) == {"name": "Ada", "size": 4}
    await until(lambda: server.is_empty)
    assert await within(server.retry(first, {"name": "Ada"})) == second
    assert log == ["before", "hello Ada", "size 4"]
    await server.close()


async def test_nothing_runs_again_for_a_round_that_was_not_settled_before_its_call_was_over(log: Log) -> None:
    store = UnsteadyStore()
    here, there = (BareServer(two_questions(log), store, replayable=True, lease=0.0) for _ in range(2))
    first = await within(here.call())
    store.failing.add("settle")
    second = await within(here.retry(first, {"name": "Ada"}))
    store.failing.clear()
    await within(here.retry(second, {"size": 4}))
    for server in (here, there):
        with pytest.raises(StateRefused):
            await within(server.retry(first, {"name": "Ada"}))
    assert log == ["before", "hello Ada", "size 4"]
    await here.close()


# The server stops.


async def test_a_server_that_stops_withdraws_its_questions_and_takes_calls_when_it_starts_again(
    store: Store, log: Log
) -> None:
    server = BareServer(one_question(log), store)
    rounds = [await within(server.call()) for _ in range(3)]
    await server.close()
    assert log == ["withdrawn", "finally"] * 3
    await until(lambda: server.is_empty)
    assert server.calls._pruning is server.calls._upkeep is None
    with pytest.raises(SettledError, match="Withdrawn"):
        await within(server.retry(rounds[0], {"name": "Ada"}))
    first = await within(server.call())
    assert await within(server.retry(first, {"name": "Ada"})) == "Ada"
    await server.close()


@pytest.mark.parametrize("kind", ["works", "asks on", "cleans up for long"])
async def test_a_server_that_stops_cancels_handlers_that_do_not_end(store: Store, kind: str) -> None:
    log = Log()

    async def tool(call: Call) -> Any:
        await ask(call, "name")
        try:
            log.append("began")
            while kind == "asks on":
                with contextlib.suppress(Withdrawn):
                    await ask(call, "again")
            if kind == "cleans up for long":
                with contextlib.suppress(Withdrawn):
                    await ask(call, "again")
            await asyncio.Event().wait()
        finally:
            log.append("cancelled")

    server = BareServer(tool, store, grace=0.1)
    first = await within(server.call())
    request = asyncio.create_task(server.retry(first, {"name": "Ada"}))
    await until(lambda: log == ["began"] and (kind == "works" or request.done()))
    await server.close()
    assert log == ["began", "cancelled"]
    if kind == "works":
        with pytest.raises(Withdrawn):
            await within(request)
    await until(lambda: server.is_empty)


async def test_a_server_that_stops_leaves_the_questions_of_replayable_handlers_open(log: Log) -> None:
    store = UnsteadyStore()
    here, there = (BareServer(one_question(log), store, replayable=True) for _ in range(2))
    first = await within(here.call())
    await here.close()
    assert log == ["finally"]
    assert [record.token for record in await store.pending()] == [first["requestState"]]
    assert await within(there.retry(first, {"name": "Ada"})) == "Ada"


@pytest.mark.shows("C6")
async def test_a_server_that_stops_lets_a_step_finish(log: Log) -> None:
    store, charging, go_on = UnsteadyStore(), asyncio.Event(), asyncio.Event()

    async def charge() -> str:
        charging.set()
        await go_on.wait()
        log.append("charged")
        return "receipt"

    async def tool(call: Call) -> Any:
        await ask(call, "name")
        return await once(call, "charge", charge)

    here, there = (BareServer(tool, store, replayable=True) for _ in range(2))
    first = await within(here.call())
    request = asyncio.create_task(here.retry(first, {"name": "Ada"}))
    await within(charging.wait())
    closing = asyncio.create_task(here.close())
    await breathe()
    go_on.set()
    await within(closing)
    assert await within(request) == "receipt"
    assert await within(there.retry(first, {"name": "Ada"})) == "receipt"
    assert log == ["charged"]


async def test_a_retry_that_another_worker_should_have_got_tells_the_operator_to_share_a_store(
    log: Log, caplog: pytest.LogCaptureFixture
) -> None:
    first = await within(BareServer(one_question(log), MemoryStore()).call())
    other = BareServer(one_question(log), MemoryStore())
    for _ in range(2):
        with pytest.raises(StateRefused):
            await within(other.retry(first, {"name": "Ada"}))
    assert [record.levelname for record in caplog.records if "share a store" in record.getMessage()] == [
        "ERROR"
    ]
