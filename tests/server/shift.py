"""A server that is stopped while people think: `python tests/server/shift.py LOG stdio` or `… LOG http PORT`.

What its bodies saw goes to a file, one a line, because the process does not live to tell it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from tests.server.shop import Effects

from handraise import Handraise, Withdrawn, ask


def make_shift(effects: Effects) -> MCPServer:
    server = Handraise().install(MCPServer("shift", log_level="CRITICAL"))

    @server.tool()
    async def work() -> str:
        """A question that nobody answers."""
        effects.add(f"asks {os.getpid()}")
        try:
            return (await ask.text("Go on?")).or_stop()
        except Withdrawn:
            effects.add("withdrawn")
            raise
        finally:
            effects.add("finally")

    return server


def main(log: str, transport: str, port: str = "0") -> None:
    effects = Effects(Path(log))
    server = make_shift(effects)
    if transport == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(port))
    effects.add("stopped")


if __name__ == "__main__":
    main(*sys.argv[1:])
