"""Nodes: servers on HTTP whose store several of them share, each a process of its own. `python -m tests.stores.node`

One process imports everything once, and makes a node of a copy of itself for each line that it reads: a JSON list of
the store, a log and the node's options. Each prints its process id and its port. All end with the input.
What the tools do, in which process and when, is written to the log, so that anything that is done twice can be seen.
Options:

- `sessions`: the node has legacy sessions; without it there are none.
- `ledger=FILE`: a ledger in the store, signed with the key beside that file.
- `dies=POINT`: killed by its own hand, as by `kill -9`, when it gets there; see `tests.stores.dying`.
- `host=NAME`: what clients call the server, which a proxy in front of it passes on.
- `lease=SECONDS`: how long it counts as alive without a word.
- `port=PORT`: where it listens; otherwise at any free port.
- `skew=SECONDS`: how far its clock is ahead.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from tests.stores.dying import Dying

from handraise import Accepted, Handraise, ask, once, replayable
from handraise.calls import Store
from handraise.ledger import Ledger
from handraise.ledger.proof import LedgerKeys
from handraise.policy.places import database_of
from handraise.stores import SqliteStore
from handraise.stores.postgres import PostgresStore
from handraise.stores.sealing import key_file_beside

LEASE = 1.5
"""Short, so that the tests need not wait for it long."""
KEYS = [b"k" * 32]


def open_store(where: str, lease: float = LEASE) -> PostgresStore | SqliteStore:
    """The store that all nodes of a test share."""
    if database_of(where):
        return PostgresStore(where, keys=KEYS, lease=lease, poll=0.2)
    return SqliteStore(where, keys=KEYS)


def open_ledger(store: Store, file: str) -> Ledger:
    """The ledger in that store."""
    return Ledger(store, keys=LedgerKeys(key_file_beside(Path(file))))


def make_server(handraise: Handraise, log: str, dying: Dying) -> MCPServer:
    """A server whose tools ask, and write down what they do."""
    server = MCPServer("node", log_level="WARNING")
    handraise.install(server)

    def did(what: str) -> str:
        handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, f"{what}\t{os.getpid()}\t{time.monotonic()}\n".encode())
        os.close(handle)
        return what

    @server.tool()
    async def parked(job: str) -> str:
        did(f"{job} begun")
        match await ask.text("Your name?"):
            case Accepted(name):
                dying.reached("body resumed")
                did(f"{job} used {name}")
                return f"{job} {name} on {os.getpid()}"
        return "nobody"

    @server.tool()
    @replayable
    async def replayed(job: str) -> str:
        await once("begin", did, f"{job} begun")
        match await ask.text("Your name?"):
            case Accepted(name):
                dying.reached("body resumed")
                await once("use", did, f"{job} used {name}")
                return f"{job} {name} on {os.getpid()}"
        return "nobody"

    @server.tool()
    async def twice(job: str) -> str:
        """Two questions in one body."""
        first = (await ask.text("First name?")).or_stop()
        last = (await ask.text("Last name?")).or_stop()
        did(f"{job} used {first} {last}")
        return f"{job} {first} {last}"

    return server


def serve(where: str, log: str, options: dict[str, str]) -> None:
    """Be a node until killed."""
    skew, right = float(options.get("skew", 0)), time.time
    time.time = lambda: right() + skew
    dying = Dying(options.get("dies", ""))
    store = dying.store(open_store(where, float(options.get("lease", LEASE))))
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", int(options.get("port", 0))))
        listener.listen(1024)  # whoever is told the port can connect
        port, sessions = listener.getsockname()[1], "sessions" in options
        handraise = Handraise(
            store=store,
            timeout=120,
            ledger=open_ledger(store, options["ledger"]) if "ledger" in options else False,
        )
        calls = dataclasses.replace(handraise._options.calls, lease=LEASE)
        handraise._options = dataclasses.replace(handraise._options, calls=calls)
        server = make_server(handraise, log, dying)
        app = server.streamable_http_app(
            stateless_http=not sessions,
            json_response=not sessions,
            transport_security=_expecting(options["host"]) if "host" in options else None,
        )
        os.write(1, f"{os.getpid()} {port}\n".encode())
        config = uvicorn.Config(app, log_level="error", timeout_keep_alive=60)
        uvicorn.Server(config).run(sockets=[listener])


def _expecting(host: str) -> TransportSecuritySettings:
    return TransportSecuritySettings(allowed_hosts=[host, "127.0.0.1:*"])


def main() -> None:
    """Make nodes until the input ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how they ended
    mother = os.getpid()
    for line in sys.stdin:
        if os.fork() == 0:
            threading.Thread(target=_end_with, args=(mother,), daemon=True).start()
            serve(*json.loads(line))


def _end_with(mother: int) -> None:
    while os.getppid() == mother:
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    main()
