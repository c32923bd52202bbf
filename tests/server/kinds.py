"""Servers of all three kinds with the same bodies, for tests over any transport.

    python tests/server/kinds.py stdio KIND
    python -m tests.server.kinds http PORT

Over HTTP one process has them all, each below its name. As in the kitchen, every tool takes `run`, under which its
effects are kept; the tool `effects` tells them.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import anyio
import mcp_types as types
import uvicorn
from fastmcp import FastMCP
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from starlette.applications import Starlette
from starlette.routing import Mount

from handraise import Handraise, Person, UrlQuestion, ask, complete

S = TypeVar("S")

LINK = "https://mcp.example.com/connect?e=Zk3q"
EFFECTS: dict[str, list[str]] = defaultdict(list)
PEOPLE: dict[str, Person] = {}
MINE: ContextVar[str] = ContextVar("mine", default="nothing")


async def pay(run: str) -> str:
    """Two questions, an effect before each, a context variable across both."""
    EFFECTS[run].append("before")
    MINE.set(run)
    first = await ask.text("To whom?", if_declined="Nothing is paid.")
    EFFECTS[run].append("between")
    second = await ask.confirm("Really?")
    assert MINE.get() == run
    return f"{first.or_stop()} {second.action}"


async def wait(run: str, timeout: float = 30) -> str:
    """A question whose missing answer nobody catches."""
    try:
        return (await ask.text("Go on?", timeout=timeout)).or_stop()
    finally:
        EFFECTS[run].append("finally")


async def chain(run: str, length: int) -> str:
    """Ask for whole numbers as often as told."""
    for _ in range(length):
        EFFECTS[run].append(str((await ask.number("Next?", whole=True)).or_stop()))
    return " ".join(EFFECTS[run])


async def three(run: str) -> str:
    """Three questions at once."""
    EFFECTS[run].append("before")
    answers = await ask.all(a=ask.text("Number 1?"), b=ask.text("Number 2?"), c=ask.text("Number 3?"))
    EFFECTS[run].append("after")
    return " ".join(answer.or_stop() for answer in answers.values())


async def link(run: str) -> str:
    """A link, and what the person does behind it."""
    PEOPLE[run] = ask.person()
    return repr(await ask.open("Allow access.", LINK, run, timeout=20))


async def files(run: str) -> str:
    """What cannot start before a link was finished."""
    PEOPLE[run] = ask.person()
    await ask.require(UrlQuestion("Your files need your permission.", LINK, run), timeout=20)
    return "files"


async def finish(run: str) -> str:
    """The end of what is behind the link."""
    await complete(run, person=PEOPLE[run])
    return "finished"


async def work(run: str) -> str:
    """What goes on for long after an answer."""
    EFFECTS[run].append((await ask.text("Go on?")).or_stop())
    try:
        await anyio.sleep_forever()
    finally:
        EFFECTS[run].append("finally")
    return "done"


async def where(run: str) -> str:
    """The client's roots, its model, and a question."""
    roots = await ask.roots()
    drafted = await ask.model("Draft a greeting", max_tokens=50)
    answer = await ask.choose("Where to?", {root.uri: root.uri for root in roots})
    return f"{drafted.text} {answer.or_stop()}"


async def effects(run: str) -> str:
    """What happened under a run."""
    return ", ".join(EFFECTS[run])


def plainly(run: str) -> str:
    """A plain function asks."""
    EFFECTS[run].append("before")
    return ask.sync(ask.text("Which?")).or_stop()


async def introduce(run: str) -> str:
    """A prompt that asks."""
    return f"Introduce {(await ask.text('Whom?')).or_stop()}."


async def note(name: str) -> str:
    """A resource that asks."""
    return f"{name}: {(await ask.text('Which version?')).or_stop()}"


TOOLS: list[Callable[..., Any]] = [
    pay,
    wait,
    chain,
    three,
    link,
    files,
    finish,
    work,
    where,
    effects,
]


def lowlevel() -> Server[Any]:
    named = {tool.__name__: tool for tool in TOOLS}

    async def call_tool(_ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = await named[params.name](**(params.arguments or {}))
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    async def get_prompt(_ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        text = await introduce(**(params.arguments or {}))
        said = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(messages=[said])

    async def read_resource(_ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        text = await note(uri.removeprefix("note://"))
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text)])

    async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(name=name, input_schema={"type": "object"}) for name in named]
        )

    server: Server[Any] = Server(
        "low",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_get_prompt=get_prompt,
        on_read_resource=read_resource,
    )
    return _installed(server)


def mcpserver() -> MCPServer:
    server = _installed(MCPServer("high", log_level="CRITICAL"))
    for tool in (*TOOLS, plainly):
        server.add_tool(tool)
    server.prompt()(introduce)
    server.resource("note://{name}")(note)
    return server


def fastmcp() -> FastMCP[Any]:
    server: FastMCP[Any] = _installed(FastMCP("fast"))
    for tool in (*TOOLS, plainly):
        server.tool(tool)
    server.prompt(introduce)
    server.resource("note://{name}")(note)
    return server


def _installed(server: S) -> S:
    return Handraise(hold=1, keep_awake=0.05, linger=0.05).install(server)


KINDS: dict[str, Callable[[], Any]] = {"mcpserver": mcpserver, "lowlevel": lowlevel, "fastmcp": fastmcp}


def target_of(server: Any) -> Any:
    """What the SDK's client connects to."""
    return getattr(server, "_mcp_server", server)


async def serve_stdio(server: Any) -> None:
    """Serve any kind, as its author would."""
    if isinstance(server, Server):
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    elif isinstance(server, MCPServer):
        await server.run_stdio_async()
    else:
        await server.run_stdio_async(show_banner=False)


def all_over_http() -> Starlette:
    """Every kind in one application."""
    apps: dict[str, Any] = {}
    for kind, make in KINDS.items():
        server = make()
        apps[kind] = server.http_app() if kind == "fastmcp" else server.streamable_http_app()

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as running:
            for app in apps.values():
                await running.enter_async_context(app.router.lifespan_context(app))
            yield

    return Starlette(routes=[Mount(f"/{kind}", app) for kind, app in apps.items()], lifespan=lifespan)


def main(transport: str, which: str) -> None:
    if transport == "stdio":
        anyio.run(serve_stdio, KINDS[which]())
    else:
        uvicorn.run(all_over_http(), host="127.0.0.1", port=int(which), log_level="critical")


if __name__ == "__main__":
    main(*sys.argv[1:])
