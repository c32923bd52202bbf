"""The person's time is kept out of the time limits that an author puts around a question, whatever they are."""

from __future__ import annotations

import asyncio
import gc
import math
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
import pytest
from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer
from tests.server.peers import Person, accept, connect, text_of

from handraise import Handraise, ask
from handraise.revisions import Revision
from handraise.server import clocks

LIMIT = 1.0
THINKS = 1.4
Work = Callable[[], Awaitable[object]]


# How a body waits for a question.


async def directly() -> None:
    await ask.text("Go?")


async def in_a_task() -> None:
    await asyncio.create_task(directly())


async def in_a_shield() -> None:
    await asyncio.shield(asyncio.create_task(directly()))


async def gathered() -> None:
    await asyncio.gather(directly(), directly())


async def in_a_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(directly())
        group.create_task(in_a_task())
        await asyncio.sleep(0.01)  # what whoever has the group does when the question is asked


async def in_a_group_of_anyio() -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(directly)
        group.start_soon(in_a_task)


async def waited_for() -> None:
    await asyncio.wait([asyncio.create_task(directly())])


async def as_completed() -> None:
    for done in asyncio.as_completed([directly()]):
        await done


async def all_at_once() -> None:
    await ask.all(one=ask.text("One?"), other=ask.text("Other?"))


async def sent_early() -> None:
    await ask.text("Go?").prepare()


async def in_a_thread() -> None:
    await anyio.to_thread.run_sync(lambda: ask.sync(ask.text("Go?")))


async def within_a_limit() -> None:
    async with asyncio.timeout(LIMIT):
        await asyncio.wait_for(directly(), LIMIT)


WAYS = (
    directly,
    in_a_task,
    in_a_shield,
    gathered,
    in_a_group,
    in_a_group_of_anyio,
    waited_for,
    as_completed,
    all_at_once,
    sent_early,
    in_a_thread,
    within_a_limit,
)


# How an author limits what may take long. Each raises `TimeoutError`.


async def by_anyio(work: Work) -> None:
    with anyio.fail_after(LIMIT):
        await work()


async def by_timeout(work: Work) -> None:
    async with asyncio.timeout(LIMIT):
        await work()


async def by_wait_for(work: Work) -> None:
    await asyncio.wait_for(work(), LIMIT)


LIMITS = (by_anyio, by_timeout, by_wait_for)


def make_server() -> MCPServer:
    server = Handraise().install(MCPServer("limits", log_level="CRITICAL"))

    @server.tool()
    async def work(limit: int, way: int) -> str:
        told: list[str] = []

        async def asks_and_goes_on() -> None:
            await WAYS[way]()
            told.append("answered")
            await anyio.sleep_forever()

        try:
            await LIMITS[limit](asks_and_goes_on)
        except TimeoutError:
            told.append("its time is up")
        return ", ".join(told)

    return server


async def thinks() -> types.ElicitResult:
    await anyio.sleep(THINKS)
    return accept(answer="yes")


@asynccontextmanager
async def nothing_left() -> AsyncIterator[None]:
    yield
    gc.collect()
    assert not clocks._standing


@pytest.mark.slow
async def test_every_limit_stands_still_while_the_person_thinks_and_goes_on_after_that(
    revision: Revision,
) -> None:
    person = Person(*[lambda _params: thinks()] * 100)
    outcomes: dict[tuple[str, str], str] = {}

    async def call(limit: int, way: int) -> None:
        result = await client.call_tool("work", {"limit": limit, "way": way})
        outcomes[LIMITS[limit].__name__, WAYS[way].__name__] = text_of(result)

    async with (
        nothing_left(),
        connect(make_server(), revision, person) as client,
        anyio.create_task_group() as calls,
    ):
        for limit in range(len(LIMITS)):
            for way in range(len(WAYS)):
                calls.start_soon(call, limit, way)
    assert {case for case, told in outcomes.items() if told != "answered, its time is up"} == set()


@pytest.mark.slow
async def test_the_limit_of_a_fastmcp_tool_stands_still(revision: Revision) -> None:
    server: FastMCP[Any] = Handraise().install(FastMCP("limits"))

    @server.tool(timeout=LIMIT / 4)
    async def work(goes_on: bool) -> str:
        answer = await ask.text("Go?")
        if goes_on:
            await anyio.sleep_forever()
        return answer.or_stop()

    person = Person(*[lambda _params: thinks()] * 2)
    async with connect(server._mcp_server, revision, person) as client:
        assert text_of(await client.call_tool("work", {"goes_on": False})) == "yes"
        late = await client.call_tool("work", {"goes_on": True})
        assert late.is_error
        assert "timed out" in text_of(late)


async def test_what_is_limited_beside_a_question_is_limited() -> None:
    """Whoever does not wait for the question has their own time."""
    server = Handraise().install(MCPServer("limits"))

    async def beside() -> str:
        try:
            async with asyncio.timeout(0.05):
                await asyncio.sleep(30)
        except TimeoutError:
            return "its time is up"
        return "unreachable"

    @server.tool()
    async def work() -> str:
        other = asyncio.create_task(beside())
        async with asyncio.timeout(30):
            await ask.text("Go?")
        return other.result() if other.done() else "it still waits"

    async def slow() -> types.ElicitResult:
        await anyio.sleep(0.3)
        return accept(answer="yes")

    async with connect(server, Revision.NOVEMBER_2025, Person(lambda _params: slow())) as client:
        assert text_of(await client.call_tool("work")) == "its time is up"


async def test_who_looks_in_between_goes_on_looking() -> None:
    """An author's own signs of life: `asyncio.wait` ends nothing when its time is over."""
    server = Handraise().install(MCPServer("limits"))
    signs = 0
    enough = anyio.Event()

    @server.tool()
    async def work() -> str:
        nonlocal signs
        question = asyncio.create_task(directly())
        while not (await asyncio.wait([question], timeout=0.01))[0]:
            signs += 1
            if signs == 3:
                enough.set()
        return "done"

    async def waits() -> types.ElicitResult:
        with anyio.fail_after(30):
            await enough.wait()
        return accept(answer="yes")

    async with connect(server, Revision.NOVEMBER_2025, Person(lambda _params: waits())) as client:
        assert text_of(await client.call_tool("work")) == "done"
    assert signs >= 3


@pytest.mark.parametrize("limit", [anyio.move_on_after, asyncio.timeout])
async def test_a_limit_that_is_renewed_while_one_question_is_open_stands_still_for_the_next(
    limit: Any,
) -> None:
    async with nothing_left(), _entered(limit(60)) as entered:
        first = await _stopped()
        soon = anyio.current_time() + 5
        _set(entered, soon)
        second = await _stopped()
        assert _end_of(entered) > soon + 60
        second.end()
        assert _end_of(entered) > soon + 60
        await asyncio.sleep(0)
        first.end()
        assert abs(_end_of(entered) - soon) < 1


@pytest.mark.parametrize("limit", [anyio.move_on_after, asyncio.timeout])
async def test_a_limit_that_the_author_takes_away_while_a_question_is_open_is_gone(limit: Any) -> None:
    async with nothing_left(), _entered(limit(60)) as entered:
        pause = await _stopped()
        _set(entered, None)
        await asyncio.sleep(0)
        pause.end()
        assert _end_of(entered) == math.inf


@asynccontextmanager
async def _entered(limit: Any) -> AsyncIterator[Any]:
    if isinstance(limit, asyncio.Timeout):
        async with limit:
            yield limit
    else:
        with limit:
            yield limit


def _set(limit: Any, end: float | None) -> None:
    if isinstance(limit, asyncio.Timeout):
        limit.reschedule(end)
    else:
        limit.deadline = math.inf if end is None else end


def _end_of(limit: Any) -> float:
    end = limit.when() if isinstance(limit, asyncio.Timeout) else limit.deadline
    return math.inf if end is None else float(end)


async def test_a_limit_that_the_author_sets_while_a_question_is_open_is_kept() -> None:
    soon = anyio.current_time() + 5
    with anyio.move_on_after(60) as limit:
        async with asyncio.timeout(60) as other:
            pause = await _stopped()
            assert set(pause._limits) == {limit, other}
            limit.deadline = soon
            other.reschedule(soon)
            pause.end()
            assert (limit.deadline, other.when()) == (soon, soon)


async def test_a_limit_that_is_over_before_its_question_stays_over() -> None:
    async with nothing_left():
        with anyio.move_on_after(60):
            async with asyncio.timeout(60) as limit:
                pause = await _stopped()
            pause.end()
        assert not limit.expired()


@pytest.mark.shows("C9")
async def test_no_timer_is_left_of_what_was_waited_for_in_time() -> None:
    async def asks() -> None:
        (await _stopped()).end()

    before = _timers()
    await asyncio.wait_for(asks(), 60)
    await asyncio.sleep(0)
    assert _timers() == before


async def test_a_question_that_is_answered_at_once_touches_no_limit() -> None:
    async with nothing_left(), asyncio.timeout(60) as limit:
        end, before = limit.when(), _timers()
        pause = clocks.Clocks().stop()
        pause.end()
        await _until(lambda: _timers() == before)
        assert limit.when() == end


@pytest.mark.shows("C9")
async def test_a_question_that_is_over_keeps_nothing_of_whoever_asked() -> None:
    kept = clocks.Clocks()

    async def asks() -> None:
        with anyio.move_on_after(60):
            kept.stop().end()
            await asyncio.sleep(0)

    asker = asyncio.create_task(asks())
    await asker
    gone = weakref.ref(asker)
    del asker
    await asyncio.sleep(0)
    gc.collect()
    assert kept._asked
    assert gone() is None


async def test_limits_have_what_they_had_left_when_the_question_was_asked() -> None:
    async with nothing_left(), asyncio.timeout(60):
        pause = await _stopped()
        (limit,) = pause._limits
        left, since = clocks._standing[limit].left, clocks._standing[limit].until - clocks._AGES
        assert since < anyio.current_time() - clocks._MOMENT / 2
        pause.end()
        assert isinstance(limit, asyncio.Timeout)
        assert (limit.when() or 0) >= anyio.current_time() + left - 1
        assert 59 < left <= 60


async def test_timers_are_looked_through_once_for_all_questions_of_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = 0

    class Counted(clocks._Timers):
        def __init__(self, loop: Any) -> None:
            nonlocal looks
            looks += 1
            super().__init__(loop)

    monkeypatch.setattr(clocks, "_Timers", Counted)
    kept = clocks.Clocks()
    ended: list[float] = []

    async def asks() -> None:
        pause = kept.stop(asyncio.current_task())
        await _until(lambda: pause._limits)
        pause.end()

    async def limited() -> None:
        async with asyncio.timeout(60) as limit:
            await asyncio.gather(*(asyncio.wait_for(asks(), 60) for _ in range(5)))
            ended.append(limit.when() or math.inf)

    async with nothing_left():
        await asyncio.gather(*(limited() for _ in range(5)))
    assert looks == 1
    assert len(ended) == 5
    assert max(ended) < anyio.current_time() + 61


async def test_an_event_loop_that_was_stopped_in_that_moment_keeps_no_question_of_the_next_from_it() -> None:
    kept = clocks.Clocks()

    async def asks() -> None:
        kept.stop()

    await anyio.to_thread.run_sync(lambda: asyncio.run(asks()))
    async with nothing_left(), asyncio.timeout(60):
        pause = kept.stop()
        await _until(lambda: pause._limits)
        pause.end()


async def _stopped() -> clocks.Pause:
    """What is around whoever calls this stands still."""
    pause = clocks.Clocks().stop()
    await _until(lambda: pause._limits)
    return pause


async def _until(condition: Callable[[], object]) -> None:
    """Without a limit of its own, which would stand still, too."""
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("it never came")


def _timers() -> set[asyncio.TimerHandle]:
    loop: Any = asyncio.get_running_loop()
    return {timer for timer in loop._scheduled if not timer.cancelled()}
