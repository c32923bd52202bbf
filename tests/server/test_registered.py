"""What a server's framework knows of its tools, and how something else comes to run in their place."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from fastmcp import FastMCP
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer

from handraise.server.registered import Registered, stand_in_for

pytestmark = pytest.mark.anyio

EITHER = pytest.mark.parametrize("make", [MCPServer, FastMCP], ids=["MCPServer", "FastMCP"])


def plain() -> str:
    return "plain"


@EITHER
async def test_what_a_tool_says_about_itself_is_known(make: Any) -> None:
    server = make("files")
    server.tool(name="read", annotations=types.ToolAnnotations(read_only_hint=True))(lambda: "x")
    server.tool(name="silent")(lambda: "x")
    tools = Registered(server)
    assert await tools.annotations("read") == {"readOnlyHint": True}
    assert await tools.annotations("silent") is None
    assert await tools.annotations("nowhere") is None


@EITHER
async def test_a_stand_in_takes_the_place_of_its_body_only(make: Any) -> None:
    server = make("files")

    def body() -> str:
        return "bare"

    async def instead() -> str:
        return "instead"

    server.tool()(body)
    server.tool()(plain)
    stand_in_for(body, instead)
    await Registered(server).put_in_place()
    told = {name: str(await server.call_tool(name, {})) for name in ("body", "plain")}
    assert "instead" in told["body"]
    assert "bare" not in told["body"]
    assert "plain" in told["plain"]


async def test_of_a_lowlevel_server_nothing_is_known() -> None:
    server: Server[Any] = Server("low")
    tools = Registered(server)
    await tools.put_in_place()
    assert await tools.annotations("read") is None


def test_what_can_have_no_stand_in_is_left_as_it_is() -> None:
    stand_in_for("text".upper, plain)
