"""Tasks that run at once instead of at the next turn of the loop."""

from __future__ import annotations

import asyncio
import inspect
from asyncio import base_events, events
from contextvars import ContextVar, copy_context

import pytest

from handraise.conversation.eagerness import ready_in, run_now

MINE: ContextVar[str] = ContextVar("mine", default="nothing")


async def test_a_task_that_was_just_made_runs_until_it_waits() -> None:
    seen: list[str] = []
    answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def work() -> None:
        seen.append("begun")
        seen.append(await answer)

    task = asyncio.create_task(work())
    run_now(task)
    assert seen == ["begun"]
    answer.set_result("answered")
    run_now(task)
    assert seen == ["begun", "answered"]
    assert task.done()


async def test_while_it_runs_it_is_the_current_task_and_afterwards_the_caller_is() -> None:
    caller = asyncio.current_task()

    async def work() -> asyncio.Task[None] | None:
        MINE.set("changed")
        return asyncio.current_task()

    task = asyncio.create_task(work(), context=copy_context())
    run_now(task)
    assert task.result() is task
    assert asyncio.current_task() is caller
    assert MINE.get() == "nothing"


async def test_what_it_raises_is_its_own() -> None:
    async def work() -> None:
        raise ValueError

    task = asyncio.create_task(work())
    run_now(task)
    with pytest.raises(ValueError):
        task.result()


async def test_a_task_whose_turn_has_come_already_is_left_to_the_loop() -> None:
    answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def work() -> str:
        return await answer

    task = asyncio.create_task(work())
    run_now(task)
    answer.set_result("answered")
    run_now(task, ready_in(asyncio.get_running_loop()))
    assert not task.done()
    assert await task == "answered"


async def test_a_task_that_others_stand_behind_waits_for_its_turn() -> None:
    begun: list[str] = []

    async def work(name: str) -> None:
        begun.append(name)

    first, second = asyncio.create_task(work("first")), asyncio.create_task(work("second"))
    run_now(first)
    assert begun == []
    await asyncio.gather(first, second)
    assert begun == ["first", "second"]


def test_without_a_running_task_it_runs_as_well() -> None:
    begun: list[str] = []

    async def work() -> None:
        begun.append("begun")

    async def main() -> None:
        over = asyncio.Event()

        def callback() -> None:
            run_now(asyncio.get_running_loop().create_task(work()))
            begun.append("called back")
            over.set()

        asyncio.get_running_loop().call_soon(callback)
        await over.wait()

    asyncio.run(main())
    assert begun == ["begun", "called back"]


def test_the_private_names_of_asyncio_that_we_touch_are_where_we_expect_them() -> None:
    """When this fails, Python has moved something: mend `conversation/eagerness.py`. Nothing breaks until then, a
    question only takes some turns of the loop more."""
    assert "self._ready = collections.deque()" in inspect.getsource(base_events.BaseEventLoop.__init__)
    assert {"_callback"} <= set(events.Handle.__slots__)
    assert callable(events.Handle._run)
