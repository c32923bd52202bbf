"""A request to the client ends as its question has to, and a call that is dispatched twice asks once."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import CONNECTION_CLOSED
from tests.server.wired import Wire, wired
from tests.waiting import until

from handraise import Handraise, NoAnswer, ask
from handraise.revisions import Revision

LEGACY = [Revision.JUNE_2025, Revision.NOVEMBER_2025]


def make_asking() -> tuple[MCPServer, list[str]]:
    """A server whose tool tells how its question ended, to the client and in a list."""
    server = Handraise().install(MCPServer("asking"))
    ended: list[str] = []

    @server.tool()
    async def work() -> str:
        try:
            ended.append((await ask.text("Go?")).action)
        except NoAnswer as error:
            ended.append(type(error).__name__)
        return ended[-1]

    return server, ended


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_a_client_that_answers_with_the_error_of_a_closed_connection_has_failed(
    revision: Revision,
) -> None:
    server, _ = make_asking()
    async with wired(server, revision) as wire:
        await wire.call("call", "work")
        question = await wire.question()
        await wire.send(id=question["id"], error={"code": CONNECTION_CLOSED, "message": "boom"})
        assert await wire.texts() == ["Failed"]


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_the_question_to_a_client_that_hangs_up_is_withdrawn(
    revision: Revision,
) -> None:
    server, ended = make_asking()
    async with wired(server, revision) as wire:
        await wire.call("call", "work")
        await wire.question()
        await wire.hang_up()
        await until(lambda: ended == ["Withdrawn"])


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_a_question_that_can_be_written_no_more_is_withdrawn(
    revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = make_asking()
    write = JSONRPCDispatcher._write

    async def writing(self: Any, message: Any, metadata: Any = None) -> None:
        if getattr(message, "method", "") == "elicitation/create":
            raise anyio.BrokenResourceError
        await write(self, message, metadata)

    monkeypatch.setattr(JSONRPCDispatcher, "_write", writing)
    async with wired(server, revision) as wire:
        await wire.call("call", "work")
        assert await wire.texts() == ["Withdrawn"]


class Twice:
    """A server whose tool is called twice under the same id: the first or the second dispatch asks, the other joins."""

    def __init__(self, *, asks: int = 1) -> None:
        self.server = Handraise().install(MCPServer("twice"))
        self.limits: dict[str, anyio.CancelScope] = {}
        """The author's own limits, of the one that asks and of the one that joins."""
        self.ended: dict[str, str] = {}
        self._asks = asks
        self._asked = asyncio.Event()
        self.server.tool()(self.work)

    async def work(self) -> str:
        """Ask, within a limit of the author's."""
        role = "asks" if len(self.limits) + 1 == self._asks else "joins"
        with anyio.CancelScope() as limit:
            self.limits[role] = limit
            if role == "joins":
                await self._asked.wait()
            try:
                asyncio.get_running_loop().call_soon(self._asked.set)
                answer = await ask.text("Go?")
            except BaseException as error:
                self.ended[role] = type(error).__name__
                raise
            self.ended[role] = answer.or_stop()
            return self.ended[role]
        return "the author's own limit"

    async def called(self, wire: Wire) -> dict[str, Any]:
        """Call it twice; the question, when both wait for its answer."""
        for _ in range(2):
            await wire.call("same", "work")
        question = await wire.question()
        await anyio.wait_all_tasks_blocked()
        assert len(self.limits) == 2
        return question


async def require_taken_back(wire: Wire, question: dict[str, Any]) -> None:
    notice = await wire.receive()
    assert notice["method"] == "notifications/cancelled"
    assert notice["params"]["requestId"] == question["id"]


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_the_question_of_a_dispatch_that_gives_up_is_withdrawn_for_its_duplicate(
    revision: Revision,
) -> None:
    twice = Twice()
    async with wired(twice.server, revision) as wire:
        question = await twice.called(wire)
        twice.limits["asks"].cancel()
        await require_taken_back(wire, question)
        limited, withdrawn = sorted(await wire.texts(2), reverse=True)
        assert limited == "the author's own limit"
        assert "withdrawn before an answer to it came" in withdrawn
        assert twice.ended == {"asks": "CancelledError", "joins": "Withdrawn"}
        await wire.require_open()


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_a_duplicate_that_gives_up_leaves_the_question_to_the_dispatch_that_asked(
    revision: Revision,
) -> None:
    twice = Twice()
    async with wired(twice.server, revision) as wire:
        question = await twice.called(wire)
        twice.limits["joins"].cancel()
        assert await wire.texts() == ["the author's own limit"]
        await wire.answer(question, answer="yes")
        assert await wire.texts() == ["yes"]
        assert twice.ended == {"asks": "yes", "joins": "CancelledError"}


@pytest.mark.parametrize("asks", [1, 2], ids=["the first asks", "the second asks"])
@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_a_client_that_cancels_a_call_which_was_dispatched_twice_has_its_question_taken_back(
    revision: Revision, asks: int
) -> None:
    twice = Twice(asks=asks)
    async with wired(twice.server, revision) as wire:
        question = await twice.called(wire)
        await wire.send(method="notifications/cancelled", params={"requestId": "same"})
        await require_taken_back(wire, question)
        assert "withdrawn before an answer to it came" in (await wire.texts())[0]
        await until(lambda: twice.ended == {"asks": "Withdrawn", "joins": "Withdrawn"})
        await wire.answer(question, answer="too late")
        await wire.require_open()
