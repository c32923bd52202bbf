import asyncio
from pathlib import Path
from tempfile import mkdtemp

from mcp.server.mcpserver import MCPServer

from handraise import Accepted, Handraise, MemoryStore, SqliteStore, ask, once, replayable, working_time
from handraise.testing import ScriptedPerson, connect

reserved: list[str] = []


async def reserve(article: str) -> str:
    reserved.append(article)
    return f"reservation {len(reserved)} of {article}"


def shop(store) -> MCPServer:
    server = Handraise(store=store, resume="replay").install(MCPServer("shop"))

    @server.tool()
    @replayable
    async def order(article: str) -> str:
        """Order something: the body runs again for each answer, and reserves once."""
        async with working_time(10):  # the person may think for longer
            reservation = await once("reserve", reserve, article)
            (await ask.confirm(f"Buy it? There is a {reservation}.")).or_stop("Not bought.")
        return f"Bought, with {reservation}."

    return server


async def main() -> None:
    file = Path(mkdtemp()) / "questions.db"
    for store in (MemoryStore(), SqliteStore(file)):
        async with connect(shop(store), "2026-07-28", ScriptedPerson(Accepted(True))) as client:
            print((await client.call_tool("order", {"article": "tea"})).content[0].text)
    print("reserved:", reserved)


asyncio.run(main())
