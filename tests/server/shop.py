"""A server whose calls outlive it: replayable handlers on a file, for tests in one process and in several.

    python -m tests.server.shop STORE LOG [OPTION=VALUE ...]

It is on stdio, unless the options name a port.

Effects go to a file, one a line, because the process may not live to tell them.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer

from handraise import Handraise, ask, once, replayable


class Effects:
    """A file that remembers what was done, whatever becomes of whoever did it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, line: str) -> None:
        with self.path.open("a") as file:
            file.write(line + "\n")

    def __call__(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []


def make_shop(
    store: Any,
    effects: Effects,
    *,
    words: str = "What shall it be?",
    dies: str = "",
    lease: float | None = None,
    **options: Any,
) -> MCPServer:
    """A shop. `words` are those of its first question; it `dies` at a point with that name."""
    handraise = Handraise(store=store, **options)
    if lease is not None:
        calls = dataclasses.replace(handraise._options.calls, lease=lease)
        handraise._options = dataclasses.replace(handraise._options, calls=calls)
    server = MCPServer("shop")
    handraise.install(server)

    def reached(point: str) -> None:
        if dies == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def charge(item: str) -> dict[str, Any]:
        effects.add(f"charged for {item}")
        return {"receipt": f"r-{item}", "notes": []}

    @server.tool()
    @replayable
    async def order(customer: str) -> str:
        """Two questions, and a step between them that must not happen twice."""
        effects.add("run")
        item = (await ask.text(words)).or_stop()
        reached("after the answer")
        receipt = await once("charge", charge, item)
        receipt["notes"].append("changed by the body")
        reached("after the step")
        gift = await ask.confirm(f"Wrap the {item} as a gift?")
        reached("after the last answer")
        return json.dumps([customer, item, receipt, gift.action])

    @server.tool()
    async def order_once(customer: str) -> str:
        """The same, by an author who did not say that it may run again."""
        effects.add("run")
        item = (await ask.text(words)).or_stop()
        effects.add(f"charged for {item}")
        reached("after the effect")
        await ask.confirm("Wrap it?")
        return item

    @server.tool()
    @replayable
    def order_plainly(customer: str) -> str:
        """A plain function that may run again."""
        effects.add("run")
        item = ask.sync(ask.text(words)).or_stop()
        receipt = ask.sync(once("charge", charge, item))
        size = ask.sync(ask.text("Which size?")).or_stop()
        return f"{customer} {receipt['receipt']} {size}"

    return server


def main(store: str, log: str, *options: str) -> None:
    settings: dict[str, Any] = dict(option.split("=", 1) for option in options)
    if "lease" in settings:
        settings["lease"] = float(settings["lease"])
    port = int(settings.pop("port", 0))
    server = make_shop(store, Effects(Path(log)), **settings)
    if port:
        server.run("streamable-http", host="127.0.0.1", port=port)
    else:
        server.run("stdio")


def serve_pipes(read: Connection, write: Connection, *words: str) -> None:
    """The same, in a process that was forked from one which has loaded everything."""
    os.dup2(read.fileno(), 0)
    os.dup2(write.fileno(), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for end in (read, write):
        end.close()
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    main(*words)


if __name__ == "__main__":
    main(*sys.argv[1:])
