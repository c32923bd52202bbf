"""Who waits for a task, by everything that asyncio and anyio have to wait with."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from handraise.conversation.awaiting import who_wait_for

Waits = Callable[["asyncio.Task[Any]"], Awaitable[object]]


async def gathers(task: asyncio.Task[Any]) -> None:
    await asyncio.gather(task, asyncio.sleep(0))


async def waits(task: asyncio.Task[Any]) -> None:
    await asyncio.wait([task], timeout=60)


async def waits_for(task: asyncio.Task[Any]) -> None:
    await asyncio.wait_for(task, 60)


async def shields(task: asyncio.Task[Any]) -> None:
    await asyncio.shield(task)


async def takes_as_completed(task: asyncio.Task[Any]) -> None:
    for done in asyncio.as_completed([task]):
        await done


async def has_a_group(task: asyncio.Task[Any]) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(shields(task))


async def has_a_group_of_anyio(task: asyncio.Task[Any]) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(shields, task)


async def waits_in_turn(task: asyncio.Task[Any]) -> None:
    await asyncio.create_task(has_a_group(asyncio.create_task(gathers(task))))


WAYS: list[Waits] = [
    gathers,
    waits,
    waits_for,
    shields,
    takes_as_completed,
    has_a_group,
    has_a_group_of_anyio,
    waits_in_turn,
]


@pytest.mark.parametrize("way", WAYS)
async def test_whoever_goes_on_only_when_a_task_is_done_waits_for_it(way: Waits) -> None:
    go_on, asked = asyncio.Event(), asyncio.Event()

    async def ask() -> None:
        asked.set()
        await go_on.wait()

    asker = asyncio.create_task(ask())
    body: asyncio.Task[Any] = asyncio.create_task(way(asker))  # type: ignore[arg-type]
    bystander = asyncio.create_task(go_on.wait())
    await asked.wait()
    await anyio.wait_all_tasks_blocked()
    found = who_wait_for(asker)
    assert {asker, body} <= found
    assert bystander not in found
    assert asyncio.current_task() not in found
    go_on.set()
    await asyncio.gather(body, bystander)


async def test_who_is_busy_with_something_else_does_not_wait() -> None:
    go_on = asyncio.Event()

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            askers.append(group.create_task(asyncio.sleep(0)))
            askers.append(group.create_task(go_on.wait()))
            await go_on.wait()

    askers: list[asyncio.Task[Any]] = []
    body = asyncio.create_task(work())
    await anyio.wait_all_tasks_blocked()
    assert body not in who_wait_for(askers[1])
    go_on.set()
    await body


async def test_a_thread_that_waits_leads_to_whom_the_caller_knows() -> None:
    """By itself a task says only that some thread waits for it."""
    loop, go_on = asyncio.get_running_loop(), asyncio.Event()
    asker: asyncio.Future[asyncio.Task[Any]] = loop.create_future()

    async def ask() -> None:
        asker.set_result(asyncio.current_task())  # type: ignore[arg-type]
        await go_on.wait()

    waiting: concurrent.futures.Future[None] = asyncio.run_coroutine_threadsafe(ask(), loop)
    task, me = await asker, asyncio.current_task()
    assert me is not None
    assert who_wait_for(task) == {task}
    assert who_wait_for(task, lambda each: [me] if each is task else []) == {task, me}
    go_on.set()
    await asyncio.wrap_future(waiting)


async def test_whatever_an_author_calls_a_task_group_is_no_reason_to_fail() -> None:
    class TaskGroup:
        """One of the author's own."""

        __slots__ = ("done",)

        def finished(self, _task: asyncio.Task[Any]) -> None:
            self.done = True

        def __getattr__(self, name: str) -> Any:
            raise KeyError(name)

    group = TaskGroup()
    task = asyncio.create_task(asyncio.sleep(0))
    task.add_done_callback(group.finished)
    assert who_wait_for(task) == {task}
    await task
