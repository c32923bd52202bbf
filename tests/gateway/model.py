"""A model's side, as a program of its own: a client that cannot ask its person, and a shell.

    python -m tests.gateway.model COMMAND…

Each line of its input is JSON, `{"tool": …, "arguments": …}` or `{"shell": …}`; each line of its output what it saw.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp import Client, StdioServerParameters


async def main(command: list[str]) -> None:
    import os

    target = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(target, mode="legacy") as client:
        for line in iter(sys.stdin.readline, ""):
            asked = json.loads(line)
            seen = await _shell(asked["shell"]) if "shell" in asked else await _call(client, asked)
            print(json.dumps(seen), flush=True)


async def _call(client: Client, asked: dict[str, Any]) -> str:
    result = await client.call_tool(asked["tool"], asked["arguments"])
    return "".join(getattr(block, "text", "") for block in result.content)


async def _shell(words: str) -> str:
    process = await asyncio.create_subprocess_shell(
        words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    output, _ = await process.communicate()
    return output.decode(errors="replace")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
