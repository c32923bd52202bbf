import asyncio
from dataclasses import dataclass

from mcp.server.mcpserver import MCPServer

from handraise import Accepted, Handraise, ask
from handraise.testing import ScriptedPerson, connect

server = Handraise().install(MCPServer("calendar"))


@dataclass
class Meeting:
    title: str
    minutes: int = 30


@server.tool()
async def plan() -> str:
    """Plan a meeting."""
    meeting = (await ask("Which meeting?", Meeting)).or_stop()
    return f"{meeting.title}, {meeting.minutes} minutes"


async def main() -> None:
    for revision in ("2025-06-18", "2025-11-25", "2026-07-28"):
        person = ScriptedPerson(Accepted({"title": "Standup"}))
        async with connect(server, revision, person) as client:
            print(revision, (await client.call_tool("plan")).content[0].text)


asyncio.run(main())
