"""Time limits around a question: ordinary ones count the person's time, `working_time` does not."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
import pytest
from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer
from tests.server.peers import accept, connect, text_of

from handraise import Handraise, ask, working_time
from handraise.errors import UsageError
from handraise.revisions import Revision

LIMIT = 0.3
THINKS = 0.6


async def thinks(_context: Any, _params: Any) -> types.ElicitResult:
    """A person who takes longer than the limit."""
    await asyncio.sleep(THINKS)
    return accept(answer="yes")


async def directly() -> None:
    await ask.text("Go?")


async def in_a_task() -> None:
    await asyncio.create_task(directly())


async def gathered() -> None:
    await asyncio.gather(directly(), directly())


async def in_a_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(directly())
        group.create_task(in_a_task())


async def all_at_once() -> None:
    await ask.all(one=ask.text("One?"), other=ask.text("Other?"))


async def sent_early() -> None:
    await ask.text("Go?").prepare()


async def in_a_thread() -> None:
    await anyio.to_thread.run_sync(lambda: ask.sync(ask.text("Go?")))


async def within_another() -> None:
    async with working_time(LIMIT):
        await directly()


WAYS = (directly, in_a_task, gathered, in_a_group, all_at_once, sent_early, in_a_thread, within_another)


def make_server(work: Callable[[], Awaitable[str]]) -> MCPServer:
    server = Handraise().install(MCPServer("limits", log_level="CRITICAL"))
    server.tool(name="work")(work)
    return server


async def outcome_of(work: Callable[[], Awaitable[str]], revision: Revision) -> str:
    async with connect(make_server(work), revision, thinks) as client, asyncio.timeout(60):
        return text_of(await client.call_tool("work"))


@pytest.mark.shows("O11")
@pytest.mark.parametrize("way", WAYS)
async def test_working_time_stands_still_while_the_person_thinks_and_then_goes_on(
    revision: Revision, way: Callable[[], Awaitable[None]]
) -> None:
    async def work() -> str:
        told = ""
        try:
            async with working_time(LIMIT):
                await way()
                told = "answered, "
                await anyio.sleep_forever()
        except TimeoutError:
            return f"{told}its time is up"
        return "unreachable"

    assert await outcome_of(work, revision) == "answered, its time is up"


async def by_anyio(work: Callable[[], Awaitable[None]]) -> None:
    with anyio.fail_after(LIMIT):
        await work()


async def by_timeout(work: Callable[[], Awaitable[None]]) -> None:
    async with asyncio.timeout(LIMIT):
        await work()


async def by_wait_for(work: Callable[[], Awaitable[None]]) -> None:
    await asyncio.wait_for(work(), LIMIT)


@pytest.mark.shows("O11")
@pytest.mark.parametrize("limit", [by_anyio, by_timeout, by_wait_for])
async def test_any_other_limit_counts_the_persons_time(revision: Revision, limit: Any) -> None:
    async def work() -> str:
        try:
            await limit(directly)
        except TimeoutError:
            return "its time is up"
        return "answered"

    assert await outcome_of(work, revision) == "its time is up"


@pytest.mark.shows("O11")
async def test_the_limit_of_a_fastmcp_tool_counts_the_persons_time(revision: Revision) -> None:
    server: FastMCP[Any] = Handraise().install(FastMCP("limits"))

    @server.tool(timeout=LIMIT)
    async def work() -> str:
        return (await ask.text("Go?")).or_stop()

    async with connect(server._mcp_server, revision, thinks) as client, asyncio.timeout(60):
        ended = await client.call_tool("work")
    assert ended.is_error


@pytest.mark.shows("O11")
async def test_work_beside_a_question_that_was_sent_early_is_counted(revision: Revision) -> None:
    async def work() -> str:
        try:
            async with working_time(LIMIT):
                question = ask.text("Go?").prepare()
                await anyio.sleep_forever()
        except TimeoutError:
            question.withdraw()
            return "its time is up"
        return "unreachable"

    assert await outcome_of(work, revision) == "its time is up"


async def test_a_limit_is_over_before_a_question_that_was_asked_too_late(revision: Revision) -> None:
    async def work() -> str:
        try:
            async with working_time(0.01):
                await asyncio.shield(asyncio.sleep(0.05))
        except TimeoutError:
            return (await ask.text("Go on?")).or_stop()
        return "unreachable"

    assert await outcome_of(work, revision) == "yes"


async def test_a_task_that_outlives_its_limit_may_ask(revision: Revision) -> None:
    async def work() -> str:
        async with working_time(LIMIT):
            asking = asyncio.create_task(directly())
            await asyncio.sleep(0)
        await asking
        return "answered"

    assert await outcome_of(work, revision) == "answered"


@pytest.mark.shows("C9")
async def test_nothing_is_left_of_a_limit_that_is_over() -> None:
    async def work() -> weakref.ref[asyncio.Task[Any]]:
        task = asyncio.current_task()
        assert task is not None
        async with working_time(60):
            await asyncio.sleep(0)
        return weakref.ref(task)

    gone = await asyncio.create_task(work())
    await asyncio.sleep(0)
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), "10"])
async def test_a_limit_of_no_seconds_is_refused(seconds: Any) -> None:
    with pytest.raises(UsageError, match="working_time takes seconds"):
        async with working_time(seconds):
            pass
