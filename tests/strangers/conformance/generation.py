"""What the fixture servers need of the SDK, under the names of mcp 2.x also where mcp 1.x is installed."""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Any

MCP = int(metadata.version("mcp").partition(".")[0])
REVISIONS = ["2025-06-18", "2025-11-25", *(["2026-07-28"] if MCP > 1 else [])]

if MCP > 1:
    import mcp_types as types
    from mcp import MCPDeprecationWarning
    from mcp.server.mcpserver import Audio, Context, Image, MCPServer, Message, UserMessage
else:
    from mcp import types  # type: ignore[no-redef]
    from mcp.server.fastmcp import Context, Image  # type: ignore[attr-defined, no-redef]
    from mcp.server.fastmcp import FastMCP as MCPServer  # type: ignore[attr-defined, no-redef]
    from mcp.server.fastmcp.prompts.base import Message, UserMessage  # type: ignore[import-not-found, no-redef]
    from mcp.server.fastmcp.utilities.types import Audio  # type: ignore[import-not-found, no-redef]

    MCPDeprecationWarning = DeprecationWarning  # type: ignore[misc, assignment]

__all__ = [
    "MCP",
    "REVISIONS",
    "Audio",
    "Context",
    "Image",
    "MCPDeprecationWarning",
    "MCPServer",
    "Message",
    "UserMessage",
    "make_server",
    "serve",
    "types",
]


def make_server(name: str) -> MCPServer[Any]:
    """A server of the SDK's own."""
    return MCPServer(name, version="1.0.0") if MCP > 1 else MCPServer(name)


def serve(server: Any) -> None:
    """Serve HTTP on the port that the command line names."""
    port = int(sys.argv[1])
    if MCP > 1:
        server.run(transport="streamable-http", port=port)
    else:
        server.settings.port = port
        server.run(transport="streamable-http")
