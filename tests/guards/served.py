"""A server with one guarded tool, in a process of its own: `python -m tests.guards.served stdio` or `http PORT`."""

from __future__ import annotations

import sys

from mcp.server.mcpserver import MCPServer

from handraise import Handraise
from handraise.guards import guard

CONTACTS = {"old": ["ada", "grace"]}


def make() -> MCPServer:
    server = Handraise().install(MCPServer("contacts"))

    @server.tool()
    @guard("Delete {count} contacts of {group}?", count=lambda group: len(CONTACTS[group]), typed="count")
    async def delete(group: str) -> str:
        deleted = len(CONTACTS[group])
        CONTACTS[group] = [*"abc"]
        return f"deleted {deleted}"

    @server.tool()
    async def left(group: str) -> str:
        return str(len(CONTACTS[group]))

    return server


if __name__ == "__main__":
    transport, *port = sys.argv[1:]
    if transport == "http":
        make().run("streamable-http", host="127.0.0.1", port=int(port[0]))
    else:
        make().run("stdio")
