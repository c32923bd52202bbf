"""A whole host with a terminal desk. You answer where you call: python examples/host_terminal.py TOOL -- COMMAND…"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from typing import TextIO

from mcp import StdioServerParameters, stdio_client

from handraise.client import Consent, ConsentClient
from handraise.desks import Queue
from handraise.desks.gate import PolicyGate
from handraise.desks.terminal import TerminalDesk, desk_for_terminal
from handraise.policy import load_policy
from handraise.questions import Origin
from handraise.this_user import local_person


async def call(queue: Queue, gate: PolicyGate, command: list[str], tool: str, log: TextIO) -> None:
    """Call one tool of a server. Its questions go to the desks of the queue."""
    consent = Consent(
        queue, origin=Origin(command[-1], shlex.join(command)), person=local_person(), gate=gate
    )
    server = stdio_client(StdioServerParameters(command=command[0], args=command[1:]), errlog=log)
    async with ConsentClient(server, consent) as client:
        result = await client.call_tool(tool)
    print(*(getattr(block, "text", f"[{block.type}]") for block in result.content), sep="\n")


async def main(command: list[str], tool: str) -> None:
    queue, gate = Queue(), PolicyGate(load_policy())
    desk = desk_for_terminal(queue, sys.stdin, sys.stderr, os.environ)
    if desk is None:
        raise SystemExit("Run this in a terminal.")
    log = desk.server_log if isinstance(desk, TerminalDesk) else sys.stderr  # not drawn over the screen
    running = asyncio.create_task(desk.run())
    try:
        await call(queue, gate, command, tool, log)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


if __name__ == "__main__":
    name, _, *started = sys.argv[1:]
    asyncio.run(main(started, name))
