import asyncio

import mcp_types as types
from mcp import Client
from mcp.server.mcpserver import MCPServer

from handraise import Expired, Failed, Handraise, NoAnswer, NotSupported, Withdrawn, ask

server = Handraise(timeout=0.2).install(MCPServer("notes"))


@server.tool()
async def name() -> str:
    """Name a note."""
    try:
        return (await ask.text("Which title?")).or_stop()
    except NotSupported as error:
        return f"the client cannot be asked: {error.mode} was not declared"
    except Expired:
        return "nobody answered in time"
    except Failed as error:
        return f"the client answered with error {error.error_code}"
    except Withdrawn:
        raise  # the caller is gone; nobody would read what we say
    except NoAnswer:
        return "any of the above"


async def silent(context, question):
    await asyncio.Event().wait()


async def broken(context, question):
    return types.ErrorData(code=-32603, message="no dialog to be had")


async def main() -> None:
    for person in (None, silent, broken):
        async with Client(server, mode="legacy", elicitation_callback=person) as client:
            print((await client.call_tool("name")).content[0].text)


asyncio.run(main())
