import asyncio
import tempfile

from mcp.server.mcpserver import MCPServer

from handraise import Accepted, Answer
from handraise.server import (
    Ask,
    Asking,
    Boundary,
    Handraise,
    ModelReply,
    Prepared,
    Root,
    Several,
    ask,
    complete,
    once,
    replayable,
)
from handraise.testing import ScriptedPerson, connect

server = Handraise().install(MCPServer("tea"))
folder = tempfile.TemporaryDirectory()
boundary = Boundary(server, [folder.name])  # for clients without roots
sent: list[str] = []


async def send(what: str) -> str:
    sent.append(what)
    return what


@server.tool()
@replayable
async def order() -> str:
    """Order tea, and write a receipt inside the boundary."""
    how_much: Asking[Answer[int]] = ask.number("How many grams?", whole=True)
    on_its_way: Prepared[Answer[int]] = how_much.prepare()
    grams = (await on_its_way).or_stop()
    what = await once("order", send, f"{grams} g")
    await boundary.write("receipt.txt", what)
    return await boundary.read_text("receipt.txt")


async def address() -> str:
    where: Several = ask.all(street=ask.text("Street?"), town=ask.text("Town?"))
    return ", ".join([answer.or_stop() for answer in (await where).values()])


async def summary() -> str:  # asks the client's model, and its roots: see above
    reply: ModelReply = await ask.model("Say it in one word.", max_tokens=5)
    roots: list[Root] = await ask.roots()
    return f"{reply.text}, {len(roots)} roots"


async def main() -> None:
    async with connect(server, "2026-07-28", ScriptedPerson(Accepted(500))) as client:
        print((await client.call_tool("order")).content[0].text)


asyncio.run(main())
folder.cleanup()
print(sent, isinstance(ask, Ask), complete.__name__)
