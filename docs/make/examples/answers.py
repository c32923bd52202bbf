import asyncio

from mcp.server.mcpserver import MCPServer

from handraise import Accepted, Answer, Cancelled, Declined, Fallback, Handraise, ask
from handraise.testing import ScriptedPerson, connect

server = Handraise().install(MCPServer("notes"))


def in_words(answer: Answer[str] | Fallback[str]) -> str:
    match answer:
        case Accepted(title):
            return f"the person wrote {title!r}"
        case Declined():
            return "the person said no"
        case Cancelled():
            return "the person dismissed the question"
        case Fallback(title):
            return f"nobody could be asked; {title!r} it is"


@server.tool()
async def name() -> str:
    """Name a note."""
    return in_words(await ask.text("Which title?", fallback="Untitled"))


async def main() -> None:
    for answer in (Accepted("Tea"), Declined(), Cancelled(), None):
        person = None if answer is None else ScriptedPerson(answer)
        async with connect(server, "2025-11-25", person) as client:
            print((await client.call_tool("name")).content[0].text)


asyncio.run(main())
