"""The servers that the ask part measures, each in a process of its own: `-m bench.ask_servers NAME TRANSPORT`.

`sdk` is the SDK alone, `handraise` and `fastmcp` have Handraise installed. On `http` the port is printed first, and
`/measure` tells what the process holds.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import socket
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import uvicorn
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from pydantic import BaseModel

from handraise import Handraise, ask

CHAIN = 20
RETRY_WINDOW = 1.0
"""How long the servers on HTTP keep an outcome for a retry that comes again."""
MESSAGE = "Please complete the booking."


class Booking(BaseModel):
    """The form of every question: five fields."""

    name: str
    seats: int
    price: float
    window: bool
    meal: Literal["fish", "lentils", "none"]


ANSWER: dict[str, Any] = {"name": "Ada", "seats": 2, "price": 41.5, "window": True, "meal": "fish"}
"""The person's answer."""


async def plain(trip: str) -> str:
    """A tool that asks nothing."""
    return f"{trip} is booked"


def sdk() -> MCPServer:
    """The SDK alone."""
    server = MCPServer("bench", log_level="CRITICAL")

    server.tool()(plain)

    @server.tool()
    async def elicit(trip: str, ctx: Context) -> str:
        answer = await ctx.elicit(MESSAGE, Booking)
        return f"{trip}: {answer.data.name}" if answer.action == "accept" else answer.action

    @server.tool()
    async def elicit_chain(trip: str, ctx: Context) -> str:
        for number in range(CHAIN):
            answer = await ctx.elicit(f"{MESSAGE} {number}", Booking)
            assert answer.action == "accept"
        return trip

    @server.tool()
    async def resolve(trip: str, booking: Annotated[Booking, Resolve(_first)]) -> str:
        return f"{trip}: {booking.name}"

    @server.tool()
    async def resolve_chain(trip: str, booking: Annotated[Booking, Resolve(_chained(CHAIN))]) -> str:
        return trip

    return server


async def _first() -> Elicit[Booking]:
    return Elicit(MESSAGE, Booking)


def _chained(length: int) -> Callable[..., Any]:
    """A resolver that asks after `length - 1` others have."""
    last: Callable[..., Any] = _first
    for number in range(1, length):
        last = _after(last, number)
    return last


def _after(previous: Callable[..., Any], number: int) -> Callable[..., Any]:
    async def resolver(before: Any) -> Elicit[Booking]:
        return Elicit(f"{MESSAGE} {number}", Booking)

    resolver.__annotations__ = {"before": Annotated[Booking, Resolve(previous)], "return": Elicit[Booking]}
    resolver.__qualname__ = f"after_{number}"
    return resolver


def handraise(**options: Any) -> MCPServer:
    """The SDK's server with Handraise."""
    server = MCPServer("bench", log_level="CRITICAL")
    _add_asking_tools(server, options)
    return server


def fastmcp(**options: Any) -> Any:
    """A FastMCP server with Handraise."""
    from fastmcp import FastMCP

    server = FastMCP("bench")
    _add_asking_tools(server, options)
    return server


def _add_asking_tools(server: Any, options: dict[str, Any]) -> None:
    Handraise(max_questions=CHAIN, **options).install(server)

    async def ask_once(trip: str) -> str:
        return f"{trip}: {(await ask(MESSAGE, Booking)).or_stop().name}"

    async def ask_chain(trip: str) -> str:
        for number in range(CHAIN):
            (await ask(f"{MESSAGE} {number}", Booking)).or_stop()
        return trip

    async def park(trip: str, seconds: float) -> str:
        return f"{trip}: {(await ask(MESSAGE, Booking, timeout=seconds)).or_stop().name}"

    for tool in (plain, ask_once, ask_chain, park):
        server.tool()(tool)


SERVERS: dict[str, Callable[..., Any]] = {"sdk": sdk, "handraise": handraise, "fastmcp": fastmcp}


def main(name: str, transport: str, *flags: str) -> None:
    """Serve until the parent ends the process."""
    logging.disable(logging.CRITICAL)
    if "traced" in flags:
        tracemalloc.start()
    options = {"retry_window": RETRY_WINDOW} if name != "sdk" and transport == "http" else {}
    server = SERVERS[name](**options)
    if transport == "stdio":
        server.run("stdio")
        return
    app = server.http_app() if name == "fastmcp" else server.streamable_http_app()
    # With the protocol named, or asyncio leaves Nagle's algorithm on and every answer takes 40 ms.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(1024)
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(
        _measured(app), log_level="critical", timeout_keep_alive=600, timeout_graceful_shutdown=2
    )
    uvicorn.Server(config).run(sockets=[listening])


def _measured(app: Any) -> Any:
    """The application, and beside it what its process holds."""

    async def measured(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != "/measure":
            await app(scope, receive, send)
            return
        body = json.dumps(_holdings()).encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return measured


def _holdings() -> dict[str, int]:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "resident": pages * 4096,
        "traced": tracemalloc.get_traced_memory()[0],
        "tasks": len(asyncio.all_tasks()),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
