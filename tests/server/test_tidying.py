"""A body whose client has left: what it is in the middle of is finished, and what it needs for that is there."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp.server.mcpserver import Context, MCPServer
from tests.server.peers import ROOT
from tests.server.rounds import by_hand
from tests.server.wired import Wire, wired
from tests.waiting import until

from handraise import Handraise, Withdrawn, ask
from handraise.revisions import Revision
from handraise.server.runtime import RUNTIMES

Leave = Callable[[Wire], Awaitable[None]]


async def cancel(wire: Wire) -> None:
    await wire.send(method="notifications/cancelled", params={"requestId": "call"})


LEAVING = pytest.mark.parametrize("leave", [cancel, Wire.hang_up], ids=["cancels", "hangs up"])


def _state_of(ctx: Context) -> str:
    state: Any = ctx.request_context.lifespan_context
    return str(state[0])


class Bank:
    """A server whose bodies write down what they see, and need what its lifespan has."""

    def __init__(self, **options: Any) -> None:
        self.seen: list[str] = []
        self.go_on = threading.Event()
        self.server = MCPServer("bank", log_level="CRITICAL", lifespan=self._lifespan)
        Handraise(**options).install(self.server)
        for tool in (self.shielded, self.in_a_thread, self.asks, self.works, self.swallows, self.siblings):
            self.server.tool()(tool)

    @asynccontextmanager
    async def _lifespan(self, _server: MCPServer) -> AsyncIterator[list[str]]:
        vault = ["open"]
        try:
            yield vault
        finally:
            vault[0] = "closed"

    async def shielded(self) -> str:
        """What must not be cut off."""
        self.seen.append("works")
        with anyio.CancelScope(shield=True):
            await until(self.go_on.is_set)
            self.seen.append("done")
        await anyio.sleep_forever()
        return "unreachable"

    def in_a_thread(self, ctx: Context) -> str:
        self.seen.append("works")
        self.go_on.wait(30)
        self.seen.append(f"done, {_state_of(ctx)}")
        return "done"

    async def asks(self, ctx: Context) -> str:
        try:
            return (await ask.text("Go?")).or_stop()
        finally:
            await self._tidy_up(ctx)

    async def works(self, ctx: Context) -> str:
        self.seen.append("works")
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await self._tidy_up(ctx)
        return "unreachable"

    async def _tidy_up(self, ctx: Context) -> None:
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(0.02))
        self.seen.append(f"tidied, {_state_of(ctx)}")

    async def swallows(self) -> str:
        """A bug of the author's."""
        for _ in range(3):
            self.seen.append("works")
            with suppress(asyncio.CancelledError):
                await anyio.sleep_forever()
        return "ended"

    async def siblings(self) -> str:
        """One task is left behind at its question while the body waits at another."""

        async def asks() -> None:
            try:
                await ask.text("Now?")
            except Withdrawn:
                task = asyncio.current_task()
                assert task is not None
                self.seen.append(f"cancelled {task.cancelling()} times")

        left_behind = asyncio.create_task(asks())
        try:
            return (await ask.text("Go?")).or_stop()
        finally:
            assert left_behind is not None

    @property
    def bodies(self) -> int:
        return len(RUNTIMES[self.server._lowlevel_server].lot.bodies)


@pytest.mark.shows("O7")
@LEAVING
async def test_a_shield_holds(leave: Leave) -> None:
    bank = Bank()
    async with wired(bank.server, Revision.NOVEMBER_2025) as wire:
        await wire.call("call", "shielded")
        await until(lambda: bank.seen)
        await leave(wire)
        await asyncio.sleep(0.1)
        bank.go_on.set()
        await until(lambda: bank.seen == ["works", "done"])
        await until(lambda: not bank.bodies)


async def test_a_shield_holds_on_2026_07_28() -> None:
    bank = Bank()
    async with by_hand(bank.server) as rounds:
        async with anyio.create_task_group() as calls:
            calls.start_soon(rounds.call, "shielded", {})
            await until(lambda: bank.seen)
            calls.cancel_scope.cancel()
        await asyncio.sleep(0.1)
        bank.go_on.set()
        await until(lambda: bank.seen == ["works", "done"])
        await until(lambda: not bank.bodies)


async def test_what_a_thread_needs_is_there_until_it_has_ended() -> None:
    bank = Bank()
    async with wired(bank.server, Revision.NOVEMBER_2025) as wire:
        await wire.call("call", "in_a_thread")
        await until(lambda: bank.seen)
        await wire.hang_up()
        await asyncio.sleep(0.1)
        bank.go_on.set()
        await until(lambda: bank.seen == ["works", "done, open"])


async def test_a_client_that_cancels_again_and_again_gets_no_more_threads_than_there_are() -> None:
    bank = Bank()
    limit = anyio.to_thread.current_default_thread_limiter().total_tokens
    before = threading.active_count()
    async with wired(bank.server, Revision.NOVEMBER_2025) as wire:
        for _ in range(int(limit) + 20):
            await wire.call("call", "in_a_thread")
            await cancel(wire)
        await wire.require_open()
        assert threading.active_count() - before <= limit
        bank.go_on.set()
        await until(lambda: not bank.bodies)


@LEAVING
@pytest.mark.parametrize("tool", ["asks", "works"])
@pytest.mark.parametrize("others", [0, 1])
async def test_what_a_connection_has_is_there_until_its_bodies_have_tidied_up(
    leave: Leave, tool: str, others: int
) -> None:
    bank = Bank()
    async with AsyncExitStack() as stack:
        for _ in range(others):
            await stack.enter_async_context(wired(bank.server, Revision.NOVEMBER_2025))
        async with wired(bank.server, Revision.NOVEMBER_2025) as wire:
            await wire.call("call", tool)
            await until(lambda: bank.bodies)
            await leave(wire)
            await until(lambda: "tidied, open" in bank.seen)


async def test_a_body_that_swallows_its_end_is_ended_again() -> None:
    bank = Bank(linger=0.05)
    async with wired(bank.server, Revision.NOVEMBER_2025) as wire:
        await wire.call("call", "swallows")
        await until(lambda: bank.seen)
        await cancel(wire)
        await until(lambda: not bank.bodies)
    assert bank.seen == ["works"] * 3


@pytest.mark.parametrize("_again", range(5))
async def test_who_is_told_is_cancelled_once(_again: int) -> None:
    """Whichever of two tasks is told first."""
    bank = Bank()
    async with wired(bank.server, Revision.NOVEMBER_2025) as wire:
        await wire.call("call", "siblings")
        for _ in range(2):
            await wire.question()
        await cancel(wire)
        await until(lambda: bank.seen)
    assert bank.seen == ["cancelled 0 times"]


ENDS = """
import asyncio, sys
from mcp.server.mcpserver import MCPServer
from tests.server.peers import Person, connect
from handraise import Handraise, ask
from handraise.revisions import Revision

server = Handraise().install(MCPServer("ends", log_level="CRITICAL"))
asked = asyncio.Event()

@server.tool()
async def asks() -> str:
    try:
        asked.set()
        if sys.argv[2] == "asks":
            await ask.text("Go?")
        await asyncio.sleep(30)
    finally:
        await asyncio.sleep(0.01)
        print("tidied", flush=True)
    return "unreachable"

async def call():
    async with connect(server, Revision(sys.argv[1]), Person(lambda _params: asyncio.sleep(30))) as client:
        await client.call_tool("asks")

async def main():
    calling = asyncio.create_task(call())
    await asked.wait()
    await asyncio.sleep(0.1)
    raise KeyError("main's own")

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["asks", "works"])
@pytest.mark.parametrize("revision", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)
def test_an_event_loop_that_ends_lets_bodies_tidy_up_and_says_why_it_ended(
    revision: Revision, what: str, tmp_path: Path
) -> None:
    program = tmp_path / "ends.py"
    program.write_text(ENDS)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(program), str(revision), what],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "tidied\n"
    assert done.stderr.splitlines()[-1] == 'KeyError: "main\'s own"'
    assert "RuntimeError" not in done.stderr
    assert time.monotonic() - began < 25
