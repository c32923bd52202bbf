"""Whoever still waits when the asker is gone, on 2026-07-28: in a thread, in a task of their own, or not at all."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import anyio
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.server.rounds import Rounds, accepted, by_hand
from tests.waiting import until

from handraise import Handraise, Person, Withdrawn, ask, complete
from handraise.server.flows import Flows
from handraise.server.runtime import RUNTIMES

LINK = "https://mcp.example.com/connect"


class Bank:
    """A server whose bodies wait for a link, and write down what they see."""

    def __init__(self) -> None:
        self.server = Handraise(hold=30, linger=0).install(MCPServer("bank", log_level="CRITICAL"))
        self.seen: list[str] = []
        self.people: list[Person] = []
        self.go_on = anyio.Event()
        for tool in (
            self.plainly,
            self.shielded,
            self.grouped,
            self.gathered,
            self.timed,
            self.early,
            self.returns,
            self.asks_on,
        ):
            self.server.tool()(tool)

    @property
    def flows(self) -> Flows:
        return RUNTIMES[self.server._lowlevel_server].flows

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        try:
            yield
        except Withdrawn:
            self.seen.append("withdrawn")
            raise
        finally:
            self.seen.append("finally")

    def plainly(self) -> str:
        self.people.append(ask.person())
        with self.noted():
            return str(ask.sync(ask.open("Go.", LINK, "link")))

    async def shielded(self) -> str:
        self.people.append(ask.person())
        return await asyncio.shield(asyncio.create_task(self._waits()))

    async def grouped(self) -> str:
        self.people.append(ask.person())
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(self._waits())
        return waiting.result()

    async def gathered(self) -> str:
        self.people.append(ask.person())
        return "".join(await asyncio.gather(self._waits()))

    async def timed(self) -> str:
        self.people.append(ask.person())
        async with asyncio.timeout(30):
            return await asyncio.wait_for(self._waits(), 30)

    async def early(self) -> str:
        self.people.append(ask.person())
        link = ask.open("Go.", LINK, "link").prepare()
        with self.noted():
            return str(await link)

    async def _waits(self) -> str:
        with self.noted():
            return str(await ask.open("Go.", LINK, "link"))

    async def returns(self) -> str:
        ask.open("Go.", LINK, "link").prepare()
        await self.go_on.wait()
        return "returned"

    async def asks_on(self) -> str:
        while True:
            with contextlib.suppress(Withdrawn), self.noted():
                await ask.text("Go?")

    async def consented(self, rounds: Rounds, tool: str) -> Callable[[], Any]:
        """A retry that says yes to the link."""
        first = await rounds.call(tool, {})
        consent = {key: {"action": "accept"} for key in first["inputRequests"]}
        return partial(rounds.call, tool, {}, state=first["requestState"], responses=consent)


@pytest.mark.shows("O7", "L1")
@pytest.mark.parametrize("tool", ["plainly", "shielded", "grouped", "gathered", "timed", "early"])
async def test_who_waits_for_a_link_by_whatever_means_is_told_that_the_client_left(
    tool: str,
) -> None:
    """And a link that is finished after that has nothing done."""
    bank = Bank()
    async with by_hand(bank.server) as rounds:
        retry = await bank.consented(rounds, tool)
        async with anyio.create_task_group() as calls:
            calls.start_soon(retry)
            await until(lambda: bank.flows._waiting)
            calls.cancel_scope.cancel()
        await until(lambda: bank.seen == ["withdrawn", "finally"])
        await complete("link", person=bank.people[0])
    assert bank.seen == ["withdrawn", "finally"]


@pytest.mark.shows("O7", "C8")
@pytest.mark.parametrize("tool", ["plainly", "shielded", "grouped", "gathered", "timed", "early"])
async def test_who_waits_for_a_link_by_whatever_means_is_told_that_the_server_stops(
    tool: str,
) -> None:
    bank = Bank()

    async def left_alone(retry: Callable[[], Any]) -> None:
        with contextlib.suppress(MCPError):
            await retry()

    async with anyio.create_task_group() as calls:
        async with by_hand(bank.server) as rounds:
            calls.start_soon(left_alone, await bank.consented(rounds, tool))
            await until(lambda: bank.flows._waiting)
        await until(lambda: bank.seen == ["withdrawn", "finally"])


@pytest.mark.shows("C9")
async def test_nothing_waits_for_a_link_of_a_body_that_has_ended() -> None:
    bank = Bank()
    async with by_hand(bank.server) as rounds:
        retry = await bank.consented(rounds, "returns")
        async with anyio.create_task_group() as calls:
            calls.start_soon(retry)
            await until(lambda: bank.flows._waiting)
            bank.go_on.set()
            await until(lambda: not bank.flows._waiting)


@pytest.mark.shows("O2")
async def test_a_body_that_asks_on_while_its_server_stops_ends_and_asks_nobody() -> None:
    bank = Bank()
    async with by_hand(bank.server) as rounds:
        first = await rounds.call("asks_on", {})
        assert accepted(first)
    assert bank.seen == ["withdrawn", "finally", "finally"]
