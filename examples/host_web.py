"""A whole host with a web desk. You answer in a browser: python examples/host_web.py TOOL -- COMMAND…"""

from __future__ import annotations

import asyncio
import shlex
import sys
from typing import TextIO

from mcp import StdioServerParameters, stdio_client

from handraise.client import Consent, ConsentClient
from handraise.desks import Queue
from handraise.desks.gate import PolicyGate
from handraise.desks.web import WebDesk
from handraise.policy import load_policy
from handraise.questions import Origin
from handraise.this_user import local_person
from handraise.urls.open import Opened, open_file


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
    async with WebDesk(queue, gate=gate) as desk:
        # A model may read what a program prints, and a link that signs in would let it answer. The file is private.
        file = desk.sign_in_file()
        if not isinstance(open_file(file), Opened):
            print(f"Open this file in your browser: {file}", file=sys.stderr)
        await call(queue, gate, command, tool, sys.stderr)


if __name__ == "__main__":
    name, _, *started = sys.argv[1:]
    asyncio.run(main(started, name))
