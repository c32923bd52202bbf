"""A shop that asks, on whichever generation of the SDK is installed: `python shop.py KIND FOLDER [OPTION...]`.

Kinds: `own` (MCPServer, or FastMCP of mcp 1.x), `lowlevel`, `fastmcp`. The folder keeps effects. It serves stdio, or
with the option `http` HTTP, for callers with an access token: then it prints its port. `json`: responses are plain
JSON. `person`: the author says whose a token is.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Awaitable, Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from handraise import (
    Accepted,
    Fallback,
    Handraise,
    NoAnswer,
    UrlQuestion,
    ask,
    complete,
    once,
    working_time,
)
from handraise.guards import guard
from handraise.pages import SecretField
from handraise.pages.oauth import Account, Endpoints
from handraise.server import Boundary

MCP = int(metadata.version("mcp").partition(".")[0])
FOLDER = Path(sys.argv[2])
OPTIONS = sys.argv[3:]
LOGIN = "https://login.example.com"
LINK = "https://shop.example.com/pay?e=Zk3q"
PEOPLE: dict[str, Any] = {}


def note(what: str) -> None:
    with (FOLDER / "effects").open("a") as effects:
        effects.write(f"{what}\n")


async def order(article: str) -> str:
    """Two questions and an effect between them."""
    note("before")
    size = (await ask.choose(f"Which size of {article}?", {"s": "Small", "l": "Large"})).or_stop()
    note("between")
    answer = await ask.confirm("Really?", yes="Order it")
    return f"{size} {answer.action}"


async def address(article: str) -> str:
    """A form of several kinds, asked again when it does not fit."""
    answer = await ask(f"Where to send {article}?", Address)
    return f"{answer.or_stop()}"


async def hurry(article: str) -> str:
    """A question that expires."""
    try:
        await ask.text("Quick?", timeout=0.2)
    except NoAnswer as nothing:
        note(nothing.code)
        raise
    return "answered"


async def wait(article: str) -> str:
    """A question that the client withdraws."""
    try:
        return (await ask.text("Go on?")).or_stop()
    except NoAnswer as nothing:
        note(nothing.code)
        raise
    finally:
        note("finally")


async def careful(article: str) -> str:
    """A value for clients that cannot be asked."""
    answer = await ask.text("Which?", fallback="any")
    return f"fallback {answer.value}" if isinstance(answer, Fallback) else answer.or_stop()


async def pay(article: str) -> str:
    """A link, finished elsewhere."""
    PEOPLE[article] = ask.person()
    answer = await ask.open("Please pay.", LINK, article, timeout=20)
    return answer.action


async def paid(article: str) -> str:
    """The end of a link."""
    await complete(article, person=PEOPLE[article])
    return "done"


async def members(article: str) -> str:
    """Something that needs a link first."""
    await ask.require(UrlQuestion("Join first.", LINK, article), timeout=20)
    return "members"


async def key(article: str) -> str:
    """A secret, on a page of our own; the vault keeps it."""
    answer = await ask.secret("API key", service="shop", timeout=20)
    return answer.data.reveal() if isinstance(answer, Accepted) else answer.action


async def account(article: str) -> str:
    """A first set-up, on a page of our own."""
    secrets = [SecretField("password")]
    found = (await ask.setup("Account", Address, secrets=secrets, timeout=20)).or_stop()
    return f"{found.data.street} {found.secrets['password'].reveal()}"


async def connect(article: str) -> str:
    """An account elsewhere, connected on a page of our own."""
    there = Account("Files", "shop", endpoints=Endpoints(f"{LOGIN}/authorize", f"{LOGIN}/token"))
    return (await ask.connect(there, timeout=20)).action


async def basket(article: str) -> str:
    """Several kinds of questions, asked together and alone."""
    found = await ask.all(
        count=ask.number("How many?", whole=True), day=ask.date("When?"), name=ask.text("For whom?")
    )
    extras = (await ask.choose_many("Extras?", ["milk", "sugar"])).or_stop()
    return f"{found['count'].or_stop()} {found['day'].or_stop()} {found['name'].or_stop()} {' '.join(extras)}"


async def poem(article: str) -> str:
    """The client's model."""
    return (await ask.model(f"A poem on {article}.", max_tokens=20)).text


async def whoami(article: str) -> str:
    """Who asks."""
    return ask.person().key


async def steps(article: str) -> str:
    """A step that runs once, in a time limit of its own."""
    async with working_time(5):
        first = await once("step", lambda: article)
        (await ask.confirm("Go on?")).or_stop()
        return f"{first} {await once('step', lambda: 'again')}"


@guard("Delete {article}?")
async def delete(article: str) -> str:
    """A guarded tool."""
    note(f"deleted {article}")
    return "deleted"


async def files(article: str) -> str:
    """A file inside the client's roots."""
    return await BOUNDARY[0].read_text(article)


def plain(article: str) -> str:
    """A plain function asks."""
    return ask.sync(ask.text("Which?")).or_stop()


Address = __import__("dataclasses").make_dataclass(
    "Address", [("street", str), ("number", int), ("gift", bool)]
)
TOOLS: list[Callable[..., Any]] = [
    order, address, hurry, wait, careful, pay, paid, members, key, account, connect, basket, poem, whoami, steps,
    delete, files, plain
]  # fmt: skip
BOUNDARY: list[Boundary] = []


def own() -> Any:
    if MCP == 1:
        from mcp.server.fastmcp import FastMCP as OwnServer  # type: ignore[attr-defined]
    else:
        from mcp.server.mcpserver import MCPServer as OwnServer
    return decorated(OwnServer("shop", log_level="CRITICAL", **(_auth() if "http" in OPTIONS else {})))


class Tokens:
    """The token is the name of its person."""

    async def verify_token(self, token: str) -> Any:
        from mcp.server.auth.provider import AccessToken

        return AccessToken(token=token, client_id="app", scopes=[], subject=token, claims={"iss": LOGIN})


def _auth() -> dict[str, Any]:
    from mcp.server.auth.settings import AuthSettings

    options = {"issuer_url": LOGIN, "resource_server_url": f"{LOGIN}/mcp", "validate_token_resource": False}
    known = {name: value for name, value in options.items() if name in AuthSettings.model_fields}
    return {"auth": AuthSettings(**known), "token_verifier": Tokens()}  # type: ignore[arg-type]


def fastmcp() -> Any:
    from fastmcp import FastMCP

    if "http" not in OPTIONS:
        return decorated(FastMCP("shop"))
    from fastmcp.server.auth.providers.jwt import StaticTokenVerifier

    tokens = {name: {"client_id": "app", "sub": name, "iss": LOGIN} for name in ("ann", "bob")}
    return decorated(FastMCP("shop", auth=StaticTokenVerifier(tokens)))


def decorated(server: Any) -> Any:
    for tool in TOOLS:
        server.tool()(tool)
    server.prompt()(order)
    server.resource("order://{article}")(order)
    return server


def lowlevel() -> Any:
    tools = {tool.__name__: tool for tool in TOOLS if tool is not plain}
    if MCP == 1:
        return _lowlevel1(tools)
    return _lowlevel2(tools)


def _lowlevel1(tools: dict[str, Callable[..., Awaitable[str]]]) -> Any:
    from mcp import types
    from mcp.server.lowlevel import Server

    server: Any = Server("shop")

    @server.list_tools()
    async def list_tools() -> Any:
        return [types.Tool(name=name, inputSchema={"type": "object"}) for name in tools]  # type: ignore[attr-defined]

    @server.call_tool()
    async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
        return [types.TextContent(type="text", text=await tools[name](**arguments))]  # type: ignore[attr-defined]

    @server.get_prompt()
    async def get_prompt(name: str, arguments: dict[str, str] | None) -> Any:
        content = types.TextContent(type="text", text=await tools[name](**(arguments or {})))  # type: ignore[attr-defined]
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])  # type: ignore[attr-defined]

    @server.read_resource()
    async def read_resource(uri: Any) -> str:
        return await order(str(uri).partition("://")[2])

    return server


def _lowlevel2(tools: dict[str, Callable[..., Awaitable[str]]]) -> Any:
    import mcp_types as types
    from mcp.server.lowlevel import Server

    async def call_tool(_ctx: Any, params: Any) -> Any:
        text = await tools[params.name](**(params.arguments or {}))
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    async def get_prompt(_ctx: Any, params: Any) -> Any:
        content = types.TextContent(type="text", text=await tools[params.name](**(params.arguments or {})))
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    async def read_resource(_ctx: Any, params: Any) -> Any:
        uri = str(params.uri)
        text = await order(uri.partition("://")[2])
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text)])

    return Server("shop", on_call_tool=call_tool, on_get_prompt=get_prompt, on_read_resource=read_resource)


async def serve(kind: str) -> None:
    server = {"own": own, "lowlevel": lowlevel, "fastmcp": fastmcp}[kind]()
    person = (lambda token: ("our own", token.token)) if "person" in OPTIONS else None
    Handraise(linger=0.2, hold=5, keep_awake=0.1, ledger=FOLDER / "ledger.db", person=person).install(server)
    BOUNDARY.append(Boundary(server))
    if "http" in OPTIONS:
        await over_http(kind, server)
    elif kind == "lowlevel":
        from mcp.server.stdio import stdio_server

        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    elif kind == "fastmcp":
        await server.run_stdio_async(show_banner=False)
    else:
        await server.run_stdio_async()


async def over_http(kind: str, server: Any) -> None:
    import uvicorn

    json = "json" in OPTIONS
    if kind == "lowlevel":
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from starlette.applications import Starlette
        from starlette.routing import Mount

        manager = StreamableHTTPSessionManager(server, json_response=json)
        app: Any = Starlette(
            routes=[Mount("/mcp", app=manager.handle_request)], lifespan=lambda _app: manager.run()
        )
    elif kind == "fastmcp":
        app = server.http_app(json_response=json)
    elif MCP == 1:
        server.settings.json_response = json
        app = server.streamable_http_app()
    else:
        app = server.streamable_http_app(json_response=json)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        await uvicorn.Server(uvicorn.Config(app, log_level="critical")).serve(sockets=[listening])


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    asyncio.run(serve(sys.argv[1]))
