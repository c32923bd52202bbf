"""What an author's own middleware may do with a handler: as much as without Handraise."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.server.peers import Person, accept, connect, text_of

from handraise import Handraise, ask
from handraise.revisions import Revision

MINE: ContextVar[str] = ContextVar("mine", default="nothing")


class Office:
    """A server with a tool that asks and one that does not, and the author's middleware around both."""

    def __init__(self, middleware: Any) -> None:
        self.did: list[str] = []
        self.server = Handraise().install(MCPServer("office", log_level="CRITICAL"))
        self.server._lowlevel_server.middleware.insert(0, middleware)
        for tool in (self.asks, self.works):
            self.server.tool()(tool)

    async def asks(self) -> str:
        self.did.append("asks")
        MINE.set("the body's")
        return (await ask.text("Go?")).or_stop()

    async def works(self) -> str:
        self.did.append("works")
        MINE.set("the body's")
        return "yes"


async def in_a_task(ctx: Any, call_next: Any) -> Any:
    return await asyncio.create_task(call_next(ctx))


async def in_a_group(ctx: Any, call_next: Any) -> Any:
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(call_next(ctx))
    return serving.result()


async def for_a_while(ctx: Any, call_next: Any) -> Any:
    return await asyncio.wait_for(call_next(ctx), 30)


@pytest.mark.parametrize("middleware", [in_a_task, in_a_group, for_a_while])
@pytest.mark.parametrize("tool", ["asks", "works"])
async def test_a_handler_may_run_in_a_task(revision: Revision, middleware: Any, tool: str) -> None:
    office = Office(middleware)
    async with connect(office.server, revision, Person(accept(answer="yes"))) as client:
        assert text_of(await client.call_tool(tool)) == "yes"
    assert office.did == [tool]


@pytest.mark.parametrize("tool", ["asks", "works"])
async def test_a_handler_that_is_not_awaited_does_nothing(revision: Revision, tool: str) -> None:
    async def refused(ctx: Any, call_next: Any) -> Any:
        serving = call_next(ctx)
        await anyio.lowlevel.checkpoint()  # whoever decides takes a moment
        if ctx.method == "tools/call":
            serving.close()
            raise MCPError(-32000, "not for you")
        return await serving

    office = Office(refused)
    async with connect(office.server, revision, Person()) as client:
        with pytest.raises(MCPError, match="not for you"):
            await client.call_tool(tool)
    assert office.did == []


@pytest.mark.parametrize("tool", ["asks", "works"])
async def test_what_a_body_has_set_is_seen_around_it(revision: Revision, tool: str) -> None:
    """Once it has ended: what a body that is suspended has set is its own."""
    seen: list[str] = []

    async def bound(ctx: Any, call_next: Any) -> Any:
        try:
            return await call_next(ctx)
        finally:
            if ctx.method == "tools/call":
                seen.append(MINE.get())

    office = Office(bound)
    async with connect(office.server, revision, Person(accept(answer="yes"))) as client:
        await client.call_tool(tool)
    parked = revision.modern and tool == "asks"
    assert seen[0] == ("nothing" if parked else "the body's")
