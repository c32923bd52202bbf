"""An error of ours that leaves a body by the way of its tasks ends the call as any other does."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import anyio
import mcp_types as types
import pytest
from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.server.peers import DECLINE, Person, accept, connect, text_of

from handraise import Expired, Handraise, ask
from handraise.errors import CATEGORY
from handraise.revisions import Revision
from handraise.wire import MISSING_CAPABILITY


async def grouped_by_asyncio(question: Any) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(question())


async def grouped_by_anyio(question: Any) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(question)


async def gathered(question: Any) -> None:
    await asyncio.gather(question(), question())


async def all_at_once(_question: Any) -> None:
    await ask.all(one=ask.text("Who?", timeout=0.05), other=ask.text("Where?", timeout=0.05))


WAYS = [grouped_by_asyncio, grouped_by_anyio, gathered, all_at_once]


def make_grouped(make: Any, way: Any) -> Any:
    """A server whose tools ask in tasks of their own."""
    server: MCPServer = Handraise().install(make("grouped"))

    @server.tool()
    async def wait() -> None:
        async def question() -> None:
            await ask.text("Go?", timeout=0.05)

        await way(question)

    @server.tool()
    async def stop() -> None:
        async def question() -> None:
            (await ask.confirm("Go?")).or_stop("Not done.")

        await way(question)

    @server.tool()
    async def crash() -> None:
        async def question() -> None:
            with contextlib.suppress(Expired):
                await ask.text("Go?", timeout=0.05)

        await way(question)
        raise ValueError("the author's own")

    return getattr(server, "_mcp_server", server)


async def nobody() -> types.ElicitResult:
    await anyio.sleep(0.2)
    return accept(answer="too late")


NOBODY = [lambda _params: nobody()] * 4


@pytest.mark.shows("O2", "N5")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [MCPServer, FastMCP])
async def test_no_answer_in_a_task_of_the_bodys_says_what_happened(
    make: Any, way: Any, revision: Revision
) -> None:
    server = make_grouped(make, way)
    async with connect(server, revision, Person(*NOBODY)) as client:
        result = await client.call_tool("wait")
        assert text_of(result).startswith("The person did not answer in time.")
        assert (result.meta or {})[CATEGORY] == "expired"
    async with connect(server, revision, None) as client:
        if revision.modern:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("wait")
            assert refused.value.error.code == MISSING_CAPABILITY
        else:
            assert text_of(await client.call_tool("wait")).startswith("This needs an answer from the person")


@pytest.mark.parametrize("way", [grouped_by_asyncio, grouped_by_anyio])
@pytest.mark.parametrize("make", [MCPServer, FastMCP])
async def test_a_polite_end_in_a_task_of_the_bodys_is_polite(make: Any, way: Any, revision: Revision) -> None:
    async with connect(make_grouped(make, way), revision, Person(DECLINE)) as client:
        assert text_of(await client.call_tool("stop")) == "Not done."


@pytest.mark.parametrize("way", [grouped_by_asyncio, grouped_by_anyio])
@pytest.mark.parametrize("make", [MCPServer, FastMCP])
async def test_a_crash_after_no_answer_that_was_caught_is_a_crash(
    make: Any, way: Any, revision: Revision
) -> None:
    async with connect(make_grouped(make, way), revision, Person(*NOBODY)) as client:
        result = await client.call_tool("crash")
    assert result.is_error
    assert "did not answer" not in text_of(result)
