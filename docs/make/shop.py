"""The server whose messages the documentation shows."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import MCPServer

from handraise import Handraise, Person, UrlQuestion, ask, complete

PAY = "https://shop.example/pay/7f3k"
PERMIT = "https://shop.example/permit/x92d"
browsers: dict[str, Person] = {}
"""The person in the browser for each link; the web server of a real shop knows."""


async def greet() -> str:
    """Greet somebody by name."""
    name = (await ask.text("What is your name?")).or_stop()
    return f"Hello {name}"


async def order() -> str:
    """Order tea."""
    sort = (await ask.choose("Which tea?", ["green", "black"])).or_stop()
    number = f"reservation 1 of {sort} tea"  # happens once, on every revision
    (await ask.confirm(f"Buy it? There is a {number}.")).or_stop("Not bought.")
    return f"Bought, with {number}."


async def checkout() -> str:
    """Pay in the browser."""
    browsers["payment-1"] = ask.person()
    (await ask.open("Please pay 5 €.", PAY, "payment-1")).or_stop("Not paid.")
    return "Paid."


async def receipts() -> str:
    """List what was paid, for which the person has to be signed in."""
    browsers["sign-in-1"] = ask.person()
    await ask.require(UrlQuestion("Your receipts need your permission.", PERMIT, "sign-in-1"))
    return "One receipt: 5 €."


async def folders() -> str:
    """Name the folders that this server may use."""
    return ", ".join(root.name or root.uri for root in await ask.roots())


TOOLS: dict[str, Callable[[], Any]] = {
    tool.__name__: tool for tool in (greet, order, checkout, receipts, folders)
}


def make_shop() -> MCPServer:
    """A fresh shop."""
    browsers.clear()
    server = Handraise().install(MCPServer("shop", version="1", log_level="CRITICAL"))
    for tool in TOOLS.values():
        server.tool()(tool)
    return server


async def finish(elicitation_id: str) -> None:
    """The work of the shop's web server when the person is done in the browser."""
    await complete(elicitation_id, person=browsers[elicitation_id])


def source_of(tool: str) -> str:
    """A tool as its author writes it."""
    return f"@server.tool()\n{inspect.getsource(TOOLS[tool])}"
