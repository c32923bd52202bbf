"""Calling the tools that a page defines, as a client whose person gives prepared answers."""

from __future__ import annotations

from collections.abc import Iterator

from mcp import Client
from mcp.client import ClientRequestContext
from mcp.server.mcpserver import MCPServer
from mcp_types import ElicitRequestParams, ElicitResult, TextContent

MODES = ["legacy", "2026-07-28"]
"""How the SDK's client connects: by the handshake of 2025-11-25, or as 2026-07-28 has it."""


class Script:
    """A person who gives these answers in order, and what they were asked."""

    def __init__(self, *answers: ElicitResult) -> None:
        self._answers: Iterator[ElicitResult] = iter(answers)
        self.asked: list[str] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message)
        return next(self._answers)


def accept(**content: str | int | float | bool | list[str] | None) -> ElicitResult:
    return ElicitResult(action="accept", content=content)


DECLINE = ElicitResult(action="decline")
CANCEL = ElicitResult(action="cancel")


async def call(server: MCPServer, mode: str, tool: str, script: Script | None, **arguments: object) -> str:
    """The text that a tool gives; without a script the client cannot be asked."""
    async with Client(server, mode=mode, elicitation_callback=script) as client:
        result = await client.call_tool(tool, arguments)
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text
