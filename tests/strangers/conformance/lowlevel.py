"""A lowlevel server of mcp 1.x with Handraise installed: `python -m tests.strangers.conformance.lowlevel PORT`."""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import EventMessage, EventStore
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


class Events(EventStore):
    """What was sent on each stream, so that a client whose stream was closed gets the rest."""

    def __init__(self) -> None:
        self._sent: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        self._sent.append((stream_id, message))
        return str(len(self._sent))

    async def replay_events_after(self, last_event_id: str, send_callback: Any) -> str | None:
        last = int(last_event_id)
        stream, _ = self._sent[last - 1]
        for number, (sent_on, message) in enumerate(self._sent[last:], last + 1):
            if sent_on == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


server: Any = Server("lowlevel")
Handraise().install(server)


@server.list_tools()  # type: ignore[untyped-decorator]
async def list_tools() -> list[Any]:
    plain = {"type": "object"}
    named = {"test_tool_with_logging": plain, "json_schema_2020_12_tool": SCHEMA, "test_reconnection": plain}
    return [types.Tool(name=name, description=name, inputSchema=schema) for name, schema in named.items()]  # type: ignore[call-arg]


@server.call_tool()  # type: ignore[untyped-decorator]
async def call_tool(name: str, arguments: dict[str, Any]) -> list[Any]:
    context = server.request_context
    if name == "test_reconnection":
        await context.close_sse_stream()
        return [types.TextContent(type="text", text=name)]
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
    manager = StreamableHTTPSessionManager(server, Events(), retry_interval=500)
    routes = [Mount("/mcp", app=manager.handle_request)]
    app = Starlette(routes=routes, lifespan=lambda _app: manager.run())
    uvicorn.run(app, port=int(sys.argv[1]), log_level="critical")
