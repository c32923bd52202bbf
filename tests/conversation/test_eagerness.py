"""Tasks that run at once instead of at the next turn of the loop."""

from __future__ import annotations

import asyncio
import inspect
from asyncio import base_events, events
from collections import deque
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from handraise.conversation.eagerness import begin_now, ready_in, run_now

MINE: ContextVar[str] = ContextVar("mine", default="nothing")


async def test_a_task_that_was_just_made_runs_until_it_waits() -> None:
    seen: list[str] = []
    answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def work() -> None:
        seen.append("begun")
        seen.append(await answer)

    task = begin_now(work())
    assert seen == ["begun"]
    waiting = ready_in(asyncio.get_running_loop())
    answer.set_result("answered")
    run_now(task, waiting)
    assert seen == ["begun", "answered"]
    assert task.done()


async def test_while_it_runs_it_is_the_current_task_and_afterwards_the_caller_is() -> None:
    caller = asyncio.current_task()

    async def work() -> asyncio.Task[None] | None:
        MINE.set("changed")
        return asyncio.current_task()

    task = begin_now(work(), name="work", context=copy_context())
    assert task.get_name() == "work"
    assert task.result() is task
    assert asyncio.current_task() is caller
    assert MINE.get() == "nothing"


async def test_what_it_raises_is_its_own() -> None:
    async def work() -> None:
        raise ValueError

    task = begin_now(work())
    with pytest.raises(ValueError):
        task.result()


async def test_a_task_whose_turn_has_come_already_is_left_to_the_loop() -> None:
    answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def work() -> str:
        return await answer

    task = begin_now(work())
    answer.set_result("answered")
    run_now(task, ready_in(asyncio.get_running_loop()))
    assert not task.done()
    assert await task == "answered"


async def test_a_task_that_others_stand_behind_waits_for_its_turn() -> None:
    begun: list[str] = []

    async def work(name: str) -> None:
        begun.append(name)

    first, second = asyncio.create_task(work("first")), asyncio.create_task(work("second"))
    run_now(first, 0)
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
            begin_now(work())
            begun.append("called back")
            over.set()

        asyncio.get_running_loop().call_soon(callback)
        await over.wait()

    asyncio.run(main())
    assert begun == ["begun", "called back"]


async def test_what_another_thread_makes_ready_meanwhile_is_left_to_the_loop() -> None:
    loop: Any = asyncio.get_running_loop()
    ran: list[str] = []

    class Late(deque[Any]):
        """Others come just when one is taken."""

        def pop(self) -> Any:  # type: ignore[override]
            for name in others:
                loop.call_soon_threadsafe(ran.append, name)
            others.clear()
            return super().pop()

    async def work() -> None:
        ran.append("task")

    others = ["first", "second"]
    loop._ready = Late(loop._ready)
    task = begin_now(work())
    assert (ran, task.done()) == (["task"], True)
    loop._ready = deque(loop._ready)
    await asyncio.sleep(0)
    assert ran == ["task", "first", "second"]


async def test_a_task_is_made_by_the_factory_of_its_loop() -> None:
    loop = asyncio.get_running_loop()
    made: list[object] = []

    def factory(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(work)
        return asyncio.Task(work, loop=loop, **options)

    async def work() -> str:
        return "done"

    loop.set_task_factory(factory)
    try:
        assert await begin_now(work(), name="work") == "done"
    finally:
        loop.set_task_factory(None)
    assert len(made) == 1


def test_the_private_names_of_asyncio_that_we_touch_are_where_we_expect_them() -> None:
    """When this fails, Python has moved something: mend `conversation/eagerness.py`. Nothing breaks until then, a
    question only takes some turns of the loop more."""
    assert "self._ready = collections.deque()" in inspect.getsource(base_events.BaseEventLoop.__init__)
    assert "self._task_factory = None" in inspect.getsource(base_events.BaseEventLoop.__init__)
    assert {"_callback", "_context", "_args"} <= set(events.Handle.__slots__)
