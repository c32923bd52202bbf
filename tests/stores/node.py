"""One node: a server on HTTP whose store several of them share. `python -m tests.stores.node URL LOG`; prints its port.

What the tools do is written to LOG, one line each, so that anything that is done twice can be seen.
"""

from __future__ import annotations

import os
import socket
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer

from handraise import Accepted, Handraise, ask, once, replayable
from handraise.stores.postgres import PostgresStore

LEASE = 1.5


def main(url: str, log: str) -> None:
    """Serve until killed."""
    store = PostgresStore(url, keys=[b"k" * 32], lease=LEASE, poll=0.2)
    server = MCPServer("node")
    Handraise(store=store, timeout=120).install(server)

    def did(what: str) -> str:
        handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, f"{what}\n".encode())
        os.close(handle)
        return what

    @server.tool()
    async def parked(job: str) -> str:
        did(f"{job} begun")
        match await ask.text("Your name?"):
            case Accepted(name):
                did(f"{job} used {name}")
                return f"{job} {name} on {os.getpid()}"
        return "nobody"

    @server.tool()
    @replayable
    async def replayed(job: str) -> str:
        await once("begin", did, f"{job} begun")
        match await ask.text("Your name?"):
            case Accepted(name):
                await once("use", did, f"{job} used {name}")
                return f"{job} {name} on {os.getpid()}"
        return "nobody"

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1024)  # whoever is told the port can connect
        print(listener.getsockname()[1], flush=True)
        app = server.streamable_http_app(stateless_http=True, json_response=True)
        config = uvicorn.Config(app, log_level="error", timeout_keep_alive=60)
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:3])
