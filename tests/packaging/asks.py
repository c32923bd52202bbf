"""A server that asks and a person who answers, on each revision: what a base install has to manage."""

import asyncio

from mcp.server.mcpserver import MCPServer

from handraise import Accepted, Handraise, ask
from handraise.revisions import Revision
from handraise.testing import ScriptedPerson, connect

server = MCPServer("notes")
Handraise().install(server)


@server.tool()
async def delete_note(title: str) -> str:
    """Delete a note for good."""
    (await ask.confirm(f"Delete {title}?")).or_stop()
    return "deleted"


async def main() -> None:
    for revision in Revision:
        async with connect(server, revision, ScriptedPerson(Accepted(True))) as client:
            result = await client.call_tool("delete_note", {"title": "plan"})
            print(revision, result.content[0].text)


asyncio.run(main())
