"""Bodies that are gone, and processes that share a store."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.conversation.parking import (
    MALLORY,
    Log,
    Parking,
    Unsteady,
    ask,
    breathe,
    leave,
    once,
    one_question,
    two_questions,
    within,
)
from tests.waiting import until

from handraise.conversation import Conversation, SettledError, Store
from handraise.errors import Ambiguous, Expired, NotReplayable, StateRefused


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


@pytest.mark.shows("C5", "C6")
async def test_a_replayed_body_keeps_what_was_answered_of_a_round_and_asks_for_the_rest(store: Store) -> None:
    async def body(conversation: Conversation) -> Any:
        return await asyncio.gather(*(ask(conversation, key) for key in "abc"))

    parking = Parking(body, store, replayable=True, forget_bodies=True)
    first = await within(parking.call())
    second = await within(parking.retry(first, {"c": 3, "b": 2}))
    assert list(second["inputRequests"]) == ["a"]
    assert await within(parking.retry(second, {"a": 1})) == [1, 2, 3]


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
        await leave(dies)
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


@pytest.mark.shows("C6")
async def test_a_body_that_is_gone_before_its_first_answer_did_not_use_it(log: Log) -> None:
    store = Unsteady()
    here, there = Parking(two_questions(log), store), Parking(two_questions(log), store)
    first = await within(here.call())
    with pytest.raises(NotReplayable) as refused:
        await within(there.retry(first, {"name": "Ada"}))
    assert type(refused.value) is NotReplayable
    await within(here.lot.close())


@pytest.mark.shows("C6")
async def test_how_far_a_body_got_that_used_an_answer_before_is_not_known(log: Log) -> None:
    store = Unsteady()
    here, there = Parking(two_questions(log), store), Parking(two_questions(log), store)
    second = await within(here.retry(await within(here.call()), {"name": "Ada"}))
    with pytest.raises(Ambiguous):
        await within(there.retry(second, {"size": "large"}))
    assert log == ["before", "hello Ada"]
    await within(here.lot.close())


@pytest.mark.shows("C6")
async def test_how_far_a_body_got_whose_answer_somebody_took_before_is_not_known(log: Log) -> None:
    store = Unsteady()
    here, there = (Parking(two_questions(log), store, lease=0.0) for _ in range(2))
    first = await within(here.call())
    async with store.held_after("consume") as gate:
        dies = asyncio.ensure_future(there.retry(first, {"name": "Ada"}))
        await within(gate.reached.wait())
        await leave(dies)
    with pytest.raises(Ambiguous):
        await within(there.retry(first, {"name": "Ada"}))
    await within(here.lot.close())


@pytest.mark.shows("C6")
async def test_how_far_a_body_got_that_has_done_a_step_is_not_known(log: Log) -> None:
    async def body(conversation: Conversation) -> Any:
        await once(conversation, "step", lambda: log.append("step"))
        return await ask(conversation, "name")

    store = Unsteady()
    here, there = Parking(body, store, replayable=True), Parking(body, store)
    first = await within(here.call())
    with pytest.raises(Ambiguous):
        await within(there.retry(first, {"name": "Ada"}))
    assert log == ["step"]
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
        await leave(retry)
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
        await leave(retry)
    await within(dead.lot.close())


async def test_a_clean_stop_leaves_the_questions_of_replayable_bodies_open(log: Log) -> None:
    store = Unsteady()
    here, there = (Parking(one_question(log), store, replayable=True) for _ in range(2))
    first = await within(here.call())
    await within(here.lot.close())
    assert log == ["finally"]
    assert [record.token for record in await store.pending()] == [first["requestState"]]
    assert await within(there.retry(first, {"name": "Ada"})) == "Ada"


@pytest.mark.shows("C6")
async def test_a_step_that_was_done_is_written_down_even_if_its_body_is_stopped_then(log: Log) -> None:
    store = Unsteady()
    stop = asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        await ask(conversation, "name")
        step = asyncio.ensure_future(once(conversation, "charge", lambda: log.append("charged")))
        await gate.reached.wait()
        step.cancel()
        await asyncio.wait([step])
        stop.set()
        await asyncio.Event().wait()

    parking = Parking(body, store, replayable=True)
    first = await within(parking.call())
    async with store.held_before("append") as gate:
        retry = asyncio.ensure_future(parking.retry(first, {"name": "Ada"}))
        await within(stop.wait())
    await breathe()
    found = await store.find_round(first["requestState"])
    assert [entry.key for entry in found.journal] == ["charge", "name"]
    await leave(retry)
    await within(parking.lot.close())


async def test_a_process_whose_store_fails_for_a_moment_keeps_its_round(log: Log) -> None:
    store = Unsteady()
    go_on = asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        name = await ask(conversation, "name")
        log.append("working")
        await go_on.wait()
        return name

    here, there = (Parking(body, store, replayable=True, lease=0.3) for _ in range(2))
    first = await within(here.call())
    one = asyncio.ensure_future(here.retry(first, {"name": "Ada"}))
    await until(lambda: log == ["working"])
    store.failing.add("hold_round")
    await asyncio.sleep(0.15)  # one of its signs of life does not get through
    store.failing.clear()
    other = asyncio.ensure_future(there.retry(first, {"name": "Ada"}))
    await asyncio.sleep(0.5)
    go_on.set()
    assert list(await within(asyncio.gather(one, other))) == ["Ada", "Ada"]
    assert log == ["working"]


@pytest.mark.shows("C6", "C8")
async def test_a_question_that_nobody_answered_stays_unanswered_when_the_body_is_replayed(log: Log) -> None:
    store = Unsteady()

    async def body(conversation: Conversation) -> Any:
        try:
            await ask(conversation, "quick", timeout=0.05)
        except Expired:
            log.append("gave up")
        return await ask(conversation, "slow")

    here, there = (Parking(body, store, replayable=True) for _ in range(2))
    first = await within(here.call())
    await until(lambda: list(here.lot.live) not in ([], [first["requestState"]]))
    second = await within(here.retry(first, {"quick": 1}))
    assert await within(there.retry(second, {"slow": 2})) == 2
    assert log == ["gave up", "gave up"]
    await within(here.lot.close())


def charging_while_asking(log: Log, go_on: asyncio.Event) -> Any:
    async def charge() -> str:
        log.append("charging")
        await go_on.wait()
        log.append("charged")
        return "receipt"

    async def body(conversation: Conversation) -> Any:
        return await asyncio.gather(ask(conversation, "name"), once(conversation, "charge", charge))

    return body


@pytest.mark.shows("C6")
@pytest.mark.parametrize("stops", [True, False], ids=["a server that stops", "bodies that are let go"])
async def test_a_body_is_not_let_go_in_the_middle_of_a_step(log: Log, stops: bool) -> None:
    store = Unsteady()
    go_on = asyncio.Event()
    body = charging_while_asking(log, go_on)
    here = Parking(body, store, replayable=True, forget_bodies=not stops)
    there = Parking(body, store, replayable=True)
    first = await within(here.call())
    await breathe()
    closing = asyncio.ensure_future(here.lot.close() if stops else asyncio.sleep(0))
    await breathe()
    assert log == ["charging"]
    go_on.set()
    await within(closing)
    await until(lambda: here.is_empty)
    assert await within(there.retry(first, {"name": "Ada"})) == ["Ada", "receipt"]
    assert log == ["charging", "charged"]


async def test_a_body_that_is_about_to_be_let_go_takes_an_answer_that_comes_before(log: Log) -> None:
    go_on = asyncio.Event()
    body = charging_while_asking(log, go_on)
    parking = Parking(body, Unsteady(), replayable=True, forget_bodies=True)
    first = await within(parking.call())
    retry = asyncio.ensure_future(parking.retry(first, {"name": "Ada"}))
    await breathe(50)
    go_on.set()
    assert await within(retry) == ["Ada", "receipt"]
    assert log == ["charging", "charged"]


@pytest.mark.shows("C6")
async def test_a_server_that_stops_lets_a_step_come_to_its_end(log: Log) -> None:
    store = Unsteady()
    charging, go_on = asyncio.Event(), asyncio.Event()

    async def charge() -> str:
        charging.set()
        await go_on.wait()
        log.append("charged")
        return "receipt"

    async def body(conversation: Conversation) -> Any:
        await ask(conversation, "name")
        return await once(conversation, "charge", charge)

    here, there = (Parking(body, store, replayable=True) for _ in range(2))
    first = await within(here.call())
    retry = asyncio.ensure_future(here.retry(first, {"name": "Ada"}))
    await within(charging.wait())
    closing = asyncio.ensure_future(here.lot.close())
    await breathe()
    go_on.set()
    await within(closing)
    assert await within(retry) == "receipt"
    assert await within(there.retry(first, {"name": "Ada"})) == "receipt"
    assert log == ["charged"]


@pytest.mark.shows("C6")
async def test_a_step_that_ends_while_a_round_is_written_is_not_lost_with_the_old_journal(log: Log) -> None:
    store = Unsteady()
    asked = asyncio.Event()

    async def body(conversation: Conversation) -> Any:
        async def step() -> Any:
            await asked.wait()
            return await once(conversation, "charge", lambda: log.append("charged"))

        await ask(conversation, "first")
        return await asyncio.gather(ask(conversation, "name"), step())

    parking = Parking(body, store, replayable=True)
    first = await within(parking.call())
    async with store.held_before("open_round") as gate:
        retry = asyncio.ensure_future(parking.retry(first, {"first": 1}))
        await within(gate.reached.wait())
        asked.set()
        await until(lambda: log == ["charged"])
        await breathe()
    second = await within(retry)
    found = await store.find_round(second["requestState"])
    assert {entry.key for entry in found.journal} == {"first", "charge"}
    await within(parking.lot.close())
