"""Servers of every kind that the installed SDKs have, with the same tools. Free of any generation's types."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeVar

from handraise import Handraise, UrlQuestion, ask
from handraise.revisions import Revision
from handraise.sdk.releases import generation
from handraise.server.served import current_call

Tool = TypeVar("Tool", bound=Callable[..., Any])
URL = "https://mcp.example.com/connect?e=Zk3q"
REVISIONS = [revision for revision in Revision if generation() == 2 or revision.legacy]
KINDS = ["sdk", "fastmcp"] if find_spec("fastmcp") else ["sdk"]


def make_server(kind: str) -> Any:
    """A server that asks in each of its tools."""
    made = _empty(kind)
    Handraise().install(made)

    def tool(function: Tool) -> Tool:
        made.tool()(function)
        return function

    @tool
    async def greet(greeting: str = "Hello") -> str:
        return f"{greeting} {(await ask.text('Who are you?')).or_stop()}"

    @tool
    async def what_you_can() -> str:
        can = current_call().can
        return " ".join(mode for mode, declared in (("form", can("form")), ("url", can("url"))) if declared)

    @tool
    async def where() -> str:
        return " ".join(root.uri for root in await ask.roots())

    @tool
    async def files() -> str:
        await ask.require(UrlQuestion("Permission, please.", URL, "flow"))
        return "files"

    @tool
    async def connect() -> str:
        return (await ask.open("Please connect.", URL, "flow")).action

    @tool
    async def sign_in() -> str:
        secret = (await ask.secret("API key")).or_stop()
        return f"{len(secret.reveal())} characters"

    return made


def _empty(kind: str) -> Any:
    if kind == "fastmcp":
        from fastmcp import FastMCP

        return FastMCP("asker")
    if generation() == 2:
        from mcp.server.mcpserver import MCPServer

        return MCPServer("asker")
    from mcp.server.fastmcp import FastMCP as OwnFastMCP  # type: ignore[attr-defined]  # of mcp 1.x

    return OwnFastMCP("asker")


if __name__ == "__main__":
    make_server("sdk").run()
