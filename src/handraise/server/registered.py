"""The tools that a server's framework knows: what they say about themselves, and what runs in their place."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp.server.mcpserver import MCPServer
from pydantic_core import to_jsonable_python

_STANDS_IN: Final = "__handraise_stands_in__"


def stand_in_for(body: Callable[..., Any], instead: Callable[..., Any]) -> None:
    """Have a function run instead of a tool's body, also where the framework was given the body itself.

    A decorator above `@server.tool()` would otherwise wrap what nobody calls, and its tool would run bare.
    """
    try:
        setattr(body, _STANDS_IN, instead)
    except AttributeError:
        return  # a bound method or the like, which no framework's decorator was put on


class Registered:
    """The tools of one server. A lowlevel server's are known to itself only."""

    def __init__(self, server: object) -> None:
        self._server = weakref.ref(server)

    async def put_in_place(self) -> None:
        """Give the framework what stands in for bodies that it has."""
        for tool in await _own_tools(self._server()):
            instead = getattr(getattr(tool, "fn", None), _STANDS_IN, None)
            if instead is not None:
                tool.fn = instead
                if hasattr(tool, "is_async"):
                    tool.is_async = True

    async def annotations(self, name: str) -> Mapping[str, Any] | None:
        """What a tool says about itself; None when it says nothing, or is not known."""
        server: Any = self._server()
        tool = None
        if isinstance(server, MCPServer):
            tool = server._tool_manager.get_tool(name)
        elif hasattr(server, "_mcp_server"):
            tool = await server.get_tool(name)
        if tool is None or tool.annotations is None:
            return None
        plain: dict[str, Any] = to_jsonable_python(tool.annotations, by_alias=True, exclude_none=True)
        return plain


async def _own_tools(server: Any) -> list[Any]:
    """Those that were registered in this process, also with servers that are mounted; nobody else is asked for any."""
    if isinstance(server, MCPServer):
        return server._tool_manager.list_tools()
    if not hasattr(server, "_mcp_server"):
        return []
    found = [*await server._local_provider._list_tools()]
    for provider in server.providers:
        while hasattr(provider, "_inner"):  # a namespace around it
            provider = provider._inner
        found += await _own_tools(getattr(provider, "server", None))
    return found
