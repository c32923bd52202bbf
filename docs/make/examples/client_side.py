import asyncio

import mcp_types as types
from mcp import Client
from mcp.server.mcpserver import MCPServer

from handraise import Handraise, ask

server = Handraise().install(MCPServer("notes"))


@server.tool()
async def look_around() -> str:
    """Ask the client itself: for its roots, and for its model."""
    roots = [root.name for root in await ask.roots()]
    reply = await ask.model(f"A title for {roots}?", max_tokens=20)
    return f"{roots}: {reply.text}"


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///home/ada/notes", name="notes")])


async def model(context, params):
    return types.CreateMessageResult(
        role="assistant", model="small", content=types.TextContent(type="text", text="Ada's notes")
    )


async def main() -> None:
    client = Client(server, mode="2026-07-28", list_roots_callback=roots, sampling_callback=model)
    async with client:
        print((await client.call_tool("look_around")).content[0].text)


asyncio.run(main())
