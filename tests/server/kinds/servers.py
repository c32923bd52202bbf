"""Servers of all three kinds, each with the same bodies as tools, as prompts and as resource templates.

    python tests/server/kinds/servers.py stdio KIND [LOG]
    python tests/server/kinds/servers.py http PORT [LOG]

Over HTTP one process has them all, each below its name; who comes with `Bearer ann` is Ann. The file remembers what the
bodies did.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import anyio
import mcp_types as types
import uvicorn
from fastmcp import Context as FastContext
from fastmcp import FastMCP
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.stdio import stdio_server
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.routing import Mount
from tests.pages.notebook import Tokens
from tests.server.kinds.bodies import BODIES, LOGS, Body, plainly, reported
from tests.server.shop import Effects

from handraise import Handraise

S = TypeVar("S")


def lowlevel(bodies: Mapping[str, Body] = BODIES, **options: Any) -> Server[Any]:
    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name == "reports":
            text = await reported(ctx.session.report_progress, lambda: ctx.request_id)
        else:
            text = await bodies[params.name](**(params.arguments or {}))
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    async def get_prompt(_ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        text = await bodies[params.name](**(params.arguments or {}))
        said = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(messages=[said])

    async def read_resource(_ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        name, _, run = uri.partition("://")
        text = await bodies[name](run)
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text)])

    async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
        tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in bodies]
        return types.ListToolsResult(tools=tools)

    server: Server[Any] = Server(
        "low",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_get_prompt=get_prompt,
        on_read_resource=read_resource,
    )
    return _installed(server, options)


def mcpserver(bodies: Mapping[str, Body] = BODIES, **options: Any) -> MCPServer:
    server = _installed(MCPServer("high", log_level="CRITICAL"), options)
    for name, body in bodies.items():
        server.add_tool(body)
        server.prompt()(body)
        server.resource(f"{name}://{{run}}")(body)
    server.add_tool(plainly)

    @server.tool()
    async def reports(run: str, ctx: Context) -> str:
        return await reported(ctx.report_progress, lambda: ctx.request_id)

    return server


def fastmcp(bodies: Mapping[str, Body] = BODIES, **options: Any) -> FastMCP[Any]:
    server: FastMCP[Any] = _installed(FastMCP("fast"), options)
    for name, body in bodies.items():
        server.tool(body)
        server.prompt(body)
        server.resource(f"{name}://{{run}}")(body)
    server.tool(plainly)

    @server.tool
    async def reports(run: str, ctx: FastContext) -> str:
        return await reported(ctx.report_progress, lambda: ctx.request_id)

    return server


def _installed(server: S, options: dict[str, Any]) -> S:
    return Handraise(**{"hold": 1, "keep_awake": 0.05, "linger": 0.05, **options}).install(server)


KINDS: dict[str, Callable[..., Any]] = {"mcpserver": mcpserver, "lowlevel": lowlevel, "fastmcp": fastmcp}


@cache
def made(kind: str) -> Any:
    """One server of a kind for all in a process, and in those that are forked from it: tools take a while to make."""
    return KINDS[kind]()


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

    return Starlette(
        routes=[Mount(f"/{kind}", app) for kind, app in apps.items()],
        middleware=[
            Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(Tokens())),
            Middleware(AuthContextMiddleware),
        ],
        lifespan=lifespan,
    )


def main(transport: str, which: str, log: str | None = None) -> None:
    if log is not None:
        LOGS.append(Effects(Path(log)))
    logging.disable(logging.CRITICAL)
    if transport == "stdio":
        anyio.run(serve_stdio, made(which))
    else:
        uvicorn.run(all_over_http(), host="127.0.0.1", port=int(which), log_level="critical")
    for effects in LOGS:
        effects.add("stopped")


if __name__ == "__main__":
    from tests.server.kinds import servers  # where they may be made already

    servers.main(*sys.argv[1:])
