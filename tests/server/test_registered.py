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


def described(name: str = "") -> str:
    return f"described {name}"


@EITHER
async def test_the_function_that_serves_a_request_is_found(make: Any) -> None:
    server = make("files")
    server.tool(name="read")(plain)
    server.prompt(name="greet")(plain)
    server.resource("shelf://books/all")(plain)
    server.resource("shelf://books/one/{name}")(described)
    tools = Registered(server)
    assert not tools.one_for_all
    assert await tools.handler_of("tools/call", "read") is plain
    assert await tools.handler_of("tools/call", "nowhere") is None
    for method, target, body in (
        ("prompts/get", "greet", plain),
        ("resources/read", "shelf://books/all", plain),
        ("resources/read", "shelf://books/one/x", described),
    ):
        found: Any = await tools.handler_of(method, target)
        assert found.__qualname__ == body.__qualname__
    assert await tools.handler_of("prompts/get", "nowhere") is None
    assert await tools.handler_of("resources/read", "nowhere://x") is None


async def test_the_function_that_serves_a_request_is_found_in_a_mounted_server() -> None:
    inner: FastMCP[Any] = FastMCP("inner")
    inner.tool(name="read")(plain)
    inner.prompt(name="greet")(plain)
    inner.resource("shelf://books/all")(plain)
    inner.resource("shelf://books/one/{name}")(described)
    outer: FastMCP[Any] = FastMCP("outer")
    outer.mount(inner, namespace="in")
    tools = Registered(outer)
    assert await tools.handler_of("tools/call", "in_read") is plain
    assert await tools.handler_of("prompts/get", "in_greet") is plain
    assert await tools.handler_of("resources/read", "shelf://in/books/all") is plain
    found: Any = await tools.handler_of("resources/read", "shelf://in/books/one/x")
    assert found.__qualname__ == described.__qualname__


async def test_of_a_lowlevel_server_nothing_is_known_but_what_serves_them_all() -> None:
    async def call_tool(ctx: Any, params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[])

    server: Server[Any] = Server("low", on_call_tool=call_tool)
    tools = Registered(server)
    await tools.put_in_place()
    assert await tools.annotations("read") is None
    assert tools.one_for_all
    assert await tools.handler_of("tools/call", "read") is call_tool
    assert await tools.handler_of("prompts/get", "read") is None


def test_what_can_have_no_stand_in_is_left_as_it_is() -> None:
    stand_in_for("text".upper, plain)
