"""A body's own view of its request, moved from round to round."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest
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


async def test_where_many_are_suspended_they_share_what_equal_clients_say_of_themselves_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("handraise.server.modern._FEW", 0)
    server = Handraise().install(MCPServer("sharing"))
    connections: list[Any] = []
    params: list[Any] = []

    @server.tool()
    async def work(ctx: Context) -> str:
        connections.append(_connection(ctx))
        params.append(ctx.request_context.params)
        await ask.text("Go?")
        return "done"

    async with by_hand(server) as rounds:
        await rounds.call("work", {})
        await rounds.call("work", {})
        rounds.capabilities = {"elicitation": {"form": {}}, "roots": {}}
        await rounds.call("work", {})
        one, equal, other = connections
        assert one.client_params is equal.client_params
        assert one.client_capabilities is equal.client_capabilities is one.client_params.capabilities
        assert one.client_capabilities.roots is None
        assert other.client_capabilities.roots is not None
        assert one.state is not equal.state
        assert [p["_meta"]["io.modelcontextprotocol/clientCapabilities"] for p in params] == [
            {"elicitation": {"form": {}, "url": {}}},
            {"elicitation": {"form": {}, "url": {}}},
            {"elicitation": {"form": {}}, "roots": {}},
        ]
        assert all(connection.initialize_accepted for connection in connections)


def test_an_exit_stack_tells_whether_it_has_anything_to_close() -> None:
    """When this fails, Python has moved `AsyncExitStack._exit_callbacks`: mend `detach_round` in `server/rebind.py`."""
    stack = AsyncExitStack()
    assert not stack._exit_callbacks  # type: ignore[attr-defined]
    stack.callback(print)
    assert stack._exit_callbacks  # type: ignore[attr-defined]
    stack.pop_all()
