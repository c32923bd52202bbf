import asyncio

from mcp.server.mcpserver import MCPServer

from handraise import Accepted, Declined, Handraise, HandraiseError, Stale, Stopped, UnusableAnswer, ask
from handraise.testing import ScriptedPerson, connect

server = Handraise(max_reasks=1).install(MCPServer("notes"))
notes = {"tea": 1}


@server.tool()
async def delete() -> str:
    """Delete a note."""
    version = notes["tea"]

    def still() -> str | None:
        return None if notes["tea"] == version else "Somebody changed 'tea'."

    try:
        (await ask.confirm("Delete 'tea'?", still=still)).or_stop("Kept it.")
    except Stopped as ended:
        print("stopped by", ended.action)
        raise
    except Stale as changed:
        print("not used:", changed)
        raise
    return "Deleted."


@server.tool()
async def rename() -> str:
    """Rename a note."""
    try:
        return (await ask.text("To what?", check=lambda text: "That is taken.")).or_stop()
    except UnusableAnswer as error:
        print("given up:", isinstance(error, HandraiseError))
        raise


class Slow(ScriptedPerson):
    """While this person thinks, somebody else edits the note."""

    def answer(self, question):
        notes["tea"] += 1
        return super().answer(question)


async def main() -> None:
    people = {"delete": [ScriptedPerson(Declined()), Slow(Accepted(True))]}
    people["rename"] = [ScriptedPerson(Accepted("tea"), Accepted("tea"))]
    for tool, asked in people.items():
        for person in asked:
            async with connect(server, "2026-07-28", person) as client:
                result = await client.call_tool(tool)
                print(result.meta["handraise/category"], "|", result.content[0].text)


asyncio.run(main())
