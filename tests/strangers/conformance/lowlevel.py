"""A lowlevel server of mcp 1.x with Handraise installed: `python -m tests.strangers.conformance.lowlevel PORT`."""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Mount
from tests.strangers.conformance.generation import types

from handraise import Handraise

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

server: Any = Server("lowlevel")
Handraise().install(server)


@server.list_tools()  # type: ignore[untyped-decorator]
async def list_tools() -> list[Any]:
    plain = {"type": "object"}
    named = {"test_tool_with_logging": plain, "json_schema_2020_12_tool": SCHEMA}
    return [types.Tool(name=name, description=name, inputSchema=schema) for name, schema in named.items()]  # type: ignore[call-arg]


@server.call_tool()  # type: ignore[untyped-decorator]
async def call_tool(name: str, arguments: dict[str, Any]) -> list[Any]:
    context = server.request_context
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", text, related_request_id=context.request_id)
    return [types.TextContent(type="text", text=name)]


@server.set_logging_level()  # type: ignore[untyped-decorator]
async def set_logging_level(level: str) -> None:
    """Take any level."""


@server.list_resources()  # type: ignore[untyped-decorator]
async def list_resources() -> list[Any]:
    return [types.Resource(uri="test://watched-resource", name="watched")]


@server.subscribe_resource()  # type: ignore[untyped-decorator]
async def subscribe(uri: Any) -> None:
    """Nothing ever changes."""


@server.unsubscribe_resource()  # type: ignore[untyped-decorator]
async def unsubscribe(uri: Any) -> None:
    """Nothing ever changes."""


if __name__ == "__main__":
    manager = StreamableHTTPSessionManager(server)
    routes = [Mount("/mcp", app=manager.handle_request)]
    app = Starlette(routes=routes, lifespan=lambda _app: manager.run())
    uvicorn.run(app, port=int(sys.argv[1]), log_level="critical")
