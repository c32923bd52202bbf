"""What a server's framework knows of its handlers: what tools say about themselves, and which function runs."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError
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
        self.one_for_all: bool = isinstance(server, Server)
        """Whether one handler serves all tools, and nobody else knows them: on a lowlevel server."""

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

    async def handler_of(self, method: str, target: str) -> object:
        """The function that serves a request, as it was registered; None when none of this process does."""
        server: Any = self._server()
        if isinstance(server, Server):
            entry = server.get_request_handler(method)
            return None if entry is None else entry.handler
        if isinstance(server, MCPServer):
            return getattr(_own_component(server, method, target), "fn", None)
        return None if server is None else await _fast_handler(server, method, target)


def _own_component(server: MCPServer[Any], method: str, target: str) -> object:
    """The tool, prompt, resource or template of a server of the SDK."""
    if method == "tools/call":
        return server._tool_manager.get_tool(target)
    if method == "prompts/get":
        return server._prompt_manager.get_prompt(target)
    resources = server._resource_manager
    if (resource := resources._resources.get(target)) is not None:
        return resource
    for template in resources._templates.values():
        try:
            if template.matches(target) is not None:
                return template
        except ResourceError:
            return None
    return None


async def _fast_handler(server: Any, method: str, target: str) -> object:
    """The function behind a component of a FastMCP server, also of one that is mounted or made from another."""
    if method == "tools/call":
        found = await server.get_tool(target)
        while found is not None and getattr(found, "forwarding_fn", None) is getattr(found, "fn", found):
            found = found.parent_tool
        inner = getattr(found, "_original_name", None)
    elif method == "prompts/get":
        found = await server.get_prompt(target)
        inner = getattr(found, "_original_name", None)
    else:
        found = await server.get_resource(target) or await server.get_resource_template(target)
        if hasattr(found, "_original_uri_template"):
            found = await found.create_resource(target, found.matches(target) or {})
        inner = getattr(found, "_original_uri", None)
    return getattr(found, "fn", None) if inner is None else await _fast_handler(found._server, method, inner)


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
