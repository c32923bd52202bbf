"""A client of an old SDK, run in that SDK's own environment: calls one tool and prints what happened as JSON.

python client.py TOOL ARGUMENTS ANSWER TARGET…

ANSWER is an elicitation result as JSON, or `none` for a client that cannot be asked; TARGET a URL or a command.
"""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


@asynccontextmanager
async def transport(target):
    if target[0].startswith("http"):
        async with streamablehttp_client(target[0]) as (read, write, _):
            yield read, write
    else:
        async with stdio_client(StdioServerParameters(command=target[0], args=target[1:])) as streams:
            yield streams


async def main(tool, arguments, answer, *target):
    asked = []

    async def person(context, params):
        asked.append(params.message)
        return types.ElicitResult(**json.loads(answer))

    callback = None if answer == "none" else person
    async with (
        transport(target) as (read, write),
        ClientSession(read, write, elicitation_callback=callback) as session,
    ):
        revision = (await session.initialize()).protocolVersion
        tools = [each.name for each in (await session.list_tools()).tools]
        result = await session.call_tool(tool, json.loads(arguments))
    text = "".join(block.text for block in result.content)
    print(
        json.dumps(
            {"revision": revision, "tools": tools, "asked": asked, "text": text, "error": result.isError}
        )
    )


asyncio.run(main(*sys.argv[1:]))
