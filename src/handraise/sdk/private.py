"""Every private name of mcp and FastMCP that we use, and the only module that uses one.

Each has a purpose, and a plan for the release that moves it: a public fallback, or a clear refusal of that one feature.
None of them is needed to import `handraise`. A test reads the syntax tree of the whole package and fails when a private
name of another package appears anywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Any, Final

from handraise.errors import SetupError


@dataclass(frozen=True, slots=True)
class PrivateName:
    """A private name of other packages."""

    name: str
    purpose: str
    without: str
    """The effect in a release without it."""
    seen_in: Mapping[str, str]
    """The releases in which we saw it, by the class or module that has it."""


NAMES: Final = (
    PrivateName(
        "_lowlevel_server",
        "Find the lowlevel server, which has the lifespan and the middleware.",
        "install() refuses: use a lowlevel Server, or another release of mcp.",
        {"mcp.server.mcpserver.MCPServer": "2.0.1 to 2.3.0"},
    ),
    PrivateName(
        "_mcp_server",
        "Find the lowlevel server of a FastMCP server.",
        "install() refuses: use another release of FastMCP.",
        {"fastmcp.FastMCP": "2.14.0 to 4.1.2", "mcp.server.fastmcp.FastMCP": "1.23.0 to 1.30.0"},
    ),
    PrivateName(
        "_connection",
        "Keep things as long as a connection of 2025-06-18 or 2025-11-25 lives.",
        "A request that is dispatched twice asks twice, roots are read in every call, and a client is told of a "
        "finished link only while a call waits for it.",
        {"mcp.server.session.ServerSession": "2.0.1 to 2.3.0"},
    ),
    PrivateName(
        "_tool_manager",
        "Find the function behind a tool: to replay it, and to put a guard in its place.",
        "A tool is not replayed: a retry after a restart is refused. A server with a @guard does not start.",
        {
            "mcp.server.mcpserver.MCPServer": "2.0.1 to 2.3.0",
            "mcp.server.fastmcp.FastMCP": "1.23.0 to 1.30.0",
        },
    ),
    PrivateName(
        "_prompt_manager",
        "Find the function behind a prompt, to replay it.",
        "A prompt is not replayed: a retry after a restart is refused.",
        {"mcp.server.mcpserver.MCPServer": "2.0.1 to 2.3.0"},
    ),
    PrivateName(
        "_resource_manager",
        "Find the function behind a resource, to replay it.",
        "A resource is not replayed: a retry after a restart is refused.",
        {"mcp.server.mcpserver.MCPServer": "2.0.1 to 2.3.0"},
    ),
    PrivateName(
        "_current_http_request",
        "Give a suspended handler the HTTP request that is live now.",
        "get_http_request() gives the request that began the call.",
        {"fastmcp.server.http": "4.0.0 to 4.1.2"},
    ),
    PrivateName(
        "_inner",
        "Find the server that is mounted under a namespace, to put a guard in the place of its tool.",
        "A server with such a mount and a @guard does not start.",
        {"fastmcp.server.providers.wrapped_provider": "3.0.0 to 4.1.2"},
    ),
    PrivateName(
        "_srctx",
        "Find the SDK's context of a request to a mounted server.",
        "A mounted server asks only where Handraise is installed on the server that mounts it.",
        {"fastmcp.server.dependencies.FastMCPRequestContext": "4.0.0 to 4.1.2"},
    ),
    PrivateName(
        "_mounted_servers",
        "Find the servers that are mounted, to run their plain functions in threads, where they can ask.",
        "A plain function of a mounted server asks only where Handraise is installed on that server.",
        {"fastmcp.FastMCP": "2.14.0 to 2.14.7"},
    ),
)


def lowlevel_server(server: object) -> Any:
    """The SDK's lowlevel server behind an `MCPServer` or a FastMCP server."""
    for name in ("_lowlevel_server", "_mcp_server"):
        if (found := getattr(server, name, None)) is not None:
            return found
    package = type(server).__module__.partition(".")[0]
    raise SetupError(
        f"this release of {package} ({metadata.version(package)}) keeps its lowlevel server where Handraise cannot "
        "find it. handraise doctor says which releases work."
    )


def connection_state(session: object) -> dict[str, Any]:
    """A dictionary that lives as long as the connection of a session."""
    state = getattr(getattr(session, "_connection", None), "state", None)
    return state if isinstance(state, dict) else {}


def component(server: object, method: str, target: str) -> object:
    """The tool, prompt, resource or template of an `MCPServer` that serves a request; None when there is none."""
    if method == "tools/call":
        tools = getattr(server, "_tool_manager", None)
        return None if tools is None else tools.get_tool(target)
    if method == "prompts/get":
        prompts = getattr(server, "_prompt_manager", None)
        return None if prompts is None else prompts.get_prompt(target)
    resources = getattr(server, "_resource_manager", None)
    if resources is None:
        return None
    for resource in resources.list_resources():
        if str(resource.uri) == target:
            return resource
    return next((each for each in resources.list_templates() if each.matches(target) is not None), None)


def tools_of(server: object) -> list[Any] | None:
    """The tools of an `MCPServer`; None when this release hides them."""
    tools = getattr(server, "_tool_manager", None)
    return None if tools is None else list(tools.list_tools())


def mounted_server(provider: Any) -> Any:
    """The FastMCP server that a provider mounts; None when it mounts none."""
    while not hasattr(provider, "server"):
        if not type(provider).__module__.endswith(".wrapped_provider"):
            return None
        if (provider := getattr(provider, "_inner", None)) is None:
            raise SetupError(
                "this release of FastMCP hides the servers that are mounted under a namespace, so Handraise cannot see "
                "that each @guard of theirs is in place. handraise doctor says which releases work."
            )
    return provider.server


def mounted_servers(server: object) -> list[Any]:
    """The servers that a FastMCP 2 server mounts; none when this release hides them."""
    return [each.server for each in getattr(server, "_mounted_servers", ())]


def sdk_context(wrapper: object) -> Any:
    """The SDK's context of a request in FastMCP's own; None when this release hides it."""
    return getattr(wrapper, "_srctx", None)


def http_request_variable() -> Any:
    """FastMCP's context variable of the current HTTP request; None when this release has none."""
    return getattr(import_module("fastmcp.server.http"), "_current_http_request", None)
