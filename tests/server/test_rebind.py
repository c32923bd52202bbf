"""A body's own view of its request, moved from round to round."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from tests.server.rounds import accepted, by_hand

from handraise import Handraise, ask


def _connection(ctx: Context) -> Any:
    return ctx.request_context.session._connection


async def test_what_a_body_wants_closed_is_closed_at_the_end_of_the_round_that_is_live() -> None:
    server = Handraise().install(MCPServer("closing"))
    seen: list[str] = []

    @server.tool()
    async def work(ctx: Context) -> str:
        for number in (1, 2):
            _connection(ctx).exit_stack.callback(seen.append, f"closed {number}")
            seen.append(f"asked {number}")
            await ask.text(f"Question {number}?")
        _connection(ctx).exit_stack.callback(seen.append, "closed 3")
        return "done"

    async with by_hand(server) as rounds:
        first = await rounds.call("work", {})
        assert seen == ["asked 1", "closed 1"]
        second = await rounds.call(
            "work", {}, state=first["requestState"], responses=accepted(first, answer="y")
        )
        assert seen[2:] == ["asked 2", "closed 2"]
        await rounds.call("work", {}, state=second["requestState"], responses=accepted(second, answer="y"))
        assert seen[4:] == ["closed 3"]
