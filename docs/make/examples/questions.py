import asyncio

from mcp.server.mcpserver import MCPServer

from handraise import Accepted, Handraise, ask
from handraise.testing import ScriptedPerson, connect

server = Handraise().install(MCPServer("bakery"))


@server.tool()
async def order() -> str:
    """Order a cake."""
    size = (await ask.choose("Which size?", {"s": "small, 12 €", "l": "large, 20 €"})).or_stop()
    fillings = (await ask.choose_many("With what?", ["plums", "nuts", "cream"])).or_stop()
    told = await ask.all(name=ask.text("Who collects it?"), day=ask.date("On which day?"))
    spent = (await ask.number("How many euros at most?", whole=True)).or_stop()
    (await ask.confirm(f"Order {size} with {' and '.join(fillings)}?")).or_stop("Not ordered.")
    return f"{told['name'].or_stop()} on {told['day'].or_stop()}, for at most {spent} €"


@server.tool()
def close() -> str:
    """Close the bakery: a plain function asks with `ask.sync`."""
    return "Closed." if ask.sync(ask.confirm("Close it?")) == Accepted(True) else "Open."


async def main() -> None:
    person = ScriptedPerson(
        Accepted("l"),
        Accepted(["plums", "cream"]),
        Accepted("Ada"),
        Accepted("2026-12-24"),
        Accepted(20),
        Accepted(True),
        Accepted(True),
    )
    async with connect(server, "2026-07-28", person) as client:
        for tool in ("order", "close"):
            print((await client.call_tool(tool)).content[0].text)


asyncio.run(main())
