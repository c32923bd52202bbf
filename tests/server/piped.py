"""A server on stdio that tells which questions it wrote at once: `python tests/server/piped.py`."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context, MCPServer

from handraise import Handraise, ask
from handraise.server import express
from handraise.server.pipe import write_at_once

server = MCPServer("piped", log_level="CRITICAL")
Handraise().install(server)
at_once: dict[str, bool] = {}


def watched(stream: Any, message: Any) -> bool:
    written = write_at_once(stream, message)
    at_once[message.params["message"].strip()] = written
    return written


vars(express)["write_at_once"] = watched


@server.tool()
async def greet(who: str, spaces: int, notes: int, ctx: Context) -> str:
    """Report so many steps, ask, report them again, and tell whether the question was written at once."""
    for note in range(notes):
        await ctx.report_progress(note)
    name = (await ask(who + " " * spaces, str)).or_stop()
    for note in range(notes):
        await ctx.report_progress(notes + note)
    return f"{name} {at_once[who]}"


if __name__ == "__main__":
    server.run("stdio")
