"""A legacy client whose every message the test writes itself, ids included."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from fastmcp import FastMCP
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared._context_streams import create_context_streams
from mcp.shared.message import SessionMessage


class Wire:
    """Both ends of a connection, for the client."""

    def __init__(self, send: Any, receive: Any) -> None:
        self._send, self._receive = send, receive

    async def send(self, **message: Any) -> None:
        parsed = types.jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **message})
        await self._send.send(SessionMessage(parsed))

    async def receive(self) -> dict[str, Any]:
        with anyio.fail_after(60):
            got = await self._receive.receive()
        dumped: dict[str, Any] = got.message.model_dump(by_alias=True, exclude_none=True)
        return dumped

    async def call(self, id: str | int, tool: str, *, token: str | None = None, **arguments: Any) -> None:
        meta = {} if token is None else {"_meta": {"progressToken": token}}
        await self.send(id=id, method="tools/call", params={"name": tool, "arguments": arguments, **meta})

    async def question(self) -> dict[str, Any]:
        """The next message, which has to be a question."""
        asked = await self.receive()
        assert asked["method"] == "elicitation/create", asked
        return asked

    async def answer(self, question: dict[str, Any], **content: Any) -> None:
        await self.send(id=question["id"], result={"action": "accept", "content": content})

    async def texts(self, calls: int = 1) -> list[str]:
        """The texts of the next messages, which have to be results of calls."""
        results = [await self.receive() for _ in range(calls)]
        return [result["result"]["content"][0]["text"] for result in results]

    async def require_open(self) -> None:
        """See that the connection lives, and that there is nothing else on it."""
        await self.send(id="ping", method="ping")
        assert await self.receive() == {"jsonrpc": "2.0", "id": "ping", "result": {}}

    async def hang_up(self) -> None:
        await self._send.aclose()


@asynccontextmanager
async def wired(server: MCPServer | FastMCP[Any] | Server[Any], revision: str) -> AsyncIterator[Wire]:
    """A client that declares both modes, on any revision with a handshake."""
    low: Any = server
    if isinstance(server, MCPServer):
        low = server._lowlevel_server
    elif isinstance(server, FastMCP):
        low = server._mcp_server
    to_server, from_client = create_context_streams[Any](10)
    to_client, from_server = create_context_streams[Any](10)
    async with to_server, from_client, to_client, from_server, anyio.create_task_group() as tasks:
        tasks.start_soon(low.run, from_client, to_client, low.create_initialization_options())
        wire = Wire(to_server, from_server)
        about = {
            "capabilities": {"elicitation": {"form": {}, "url": {}}},
            "clientInfo": {"name": "wire", "version": "1"},
        }
        await wire.send(id=0, method="initialize", params={"protocolVersion": str(revision), **about})
        assert (await wire.receive())["result"]["protocolVersion"] == revision
        await wire.send(method="notifications/initialized")
        yield wire
        tasks.cancel_scope.cancel()
