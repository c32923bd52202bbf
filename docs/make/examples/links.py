import asyncio

import mcp_types as types
from mcp import Client
from mcp.server.mcpserver import MCPServer

from handraise import Handraise, Person, UrlQuestion, ask, complete

server = Handraise().install(MCPServer("shop"))
waiting: dict[str, Person] = {}  # what the shop's web server knows about its links


@server.tool()
async def pay() -> str:
    """Pay on the shop's own page."""
    waiting["p1"] = ask.person()
    (await ask.open("Please pay 5 €.", "https://shop.example/pay/7f3k", "p1")).or_stop("Not paid.")
    return "Paid."


@server.tool()
async def receipts() -> str:
    """List receipts; the person has to be signed in."""
    waiting["s1"] = ask.person()
    await ask.require(UrlQuestion("Please sign in.", "https://shop.example/sign-in/x92d", "s1"))
    return "One receipt."


async def person(context, question):
    print("consents to", question.url)
    for elicitation_id, somebody in waiting.items():  # meanwhile, in the browser
        await complete(elicitation_id, person=somebody)
    waiting.clear()
    return types.ElicitResult(action="accept")


async def main() -> None:
    async with Client(server, mode="2026-07-28", elicitation_callback=person) as client:
        for tool in ("pay", "receipts"):
            print((await client.call_tool(tool)).content[0].text)


asyncio.run(main())
