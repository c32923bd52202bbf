"""Progress while a person is asked: the notices that keep the call alive, and the author's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolRequestParams, CallToolResult
from tests.server.wired import Wire, wired

from handraise import Handraise, ask
from handraise.revisions import Revision

LEGACY = [revision for revision in Revision if revision.legacy]

Report = tuple[float, float | None]


def make_server(before: Sequence[Report], after: Sequence[Report]) -> MCPServer:
    """A server whose tool reports progress, asks, and reports more."""
    server = Handraise(keep_awake=0.01).install(MCPServer("awake"))

    @server.tool()
    async def work(ctx: Context) -> str:
        for progress, total in before:
            await ctx.report_progress(progress, total)
        await ask.text("Go?")
        for progress, total in after:
            await ctx.report_progress(progress, total)
        return "done"

    return server


async def seen(wire: Wire, ticks: int) -> list[Report]:
    """What a call reports until its end, when the person answers after some notices have come while they thought."""
    await wire.call("call", "work", token="mine")
    reports: list[Report] = []
    question = None
    while "result" not in (message := await wire.receive()):
        if message["method"] == "elicitation/create":
            question = message
        else:
            params = message["params"]
            assert params["progressToken"] == "mine"
            reports.append((params["progress"], params.get("total")))
            ticks -= question is not None
        if question is not None and ticks == 0:
            await wire.answer(question, answer="yes")
    return reports


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([(1, None)], [(2, None)]),
        ([], [(0, 3), (1, 3), (2, 3)]),
        ([], [(0, None)]),
        ([(0.5, 1)], [(0.5005, 1), (1, 1)]),
        ([(0, 0.002)], [(0.001, 0.002)]),
        ([(0, None), (0.0001, None), (99, 100)], [(100, 100)]),
    ],
)
@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_notices_while_a_person_thinks_and_the_authors_own_grow_together(
    revision: Revision, before: list[Report], after: list[Report]
) -> None:
    async with wired(make_server(before, after), revision) as wire:
        reports = await seen(wire, ticks=4)
    values = [progress for progress, _ in reports]
    assert values == sorted(set(values))
    assert reports[: len(before)] == before
    own = values[len(before) : len(values) - len(after)]
    assert len(own) >= 4
    if not any(total for _, total in before):
        assert own == [float(int(before[-1][0]) + at if before else at) for at in range(1, len(own) + 1)]
    for (_, total), (_, given) in zip(reports[-len(after) :], after, strict=True):
        assert (total is None) == (given is None)
    assert all(progress <= total for progress, total in reports if total is not None)


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_what_the_author_reports_is_sent_as_it_is_where_nothing_was_sent_meanwhile(
    revision: Revision,
) -> None:
    reports: list[Report] = [(0, None), (0.0001, 1), (0.0002, 1), (0.0001, 1), (1, 1)]
    async with wired(make_server(reports, []), revision) as wire:
        assert (await seen(wire, ticks=0))[:5] == reports


@pytest.mark.parametrize("revision", LEGACY, ids=str)
async def test_what_the_author_sends_with_the_token_by_hand_is_counted_too(revision: Revision) -> None:
    async def work(ctx: Any, _params: CallToolRequestParams) -> CallToolResult:
        await ctx.session.send_progress_notification("mine", 5.0)
        await ask.text("Go?")
        await ctx.session.send_progress_notification(progress_token="mine", progress=5.0001, total=10.0)
        return CallToolResult(content=[])

    server = Handraise(keep_awake=0.01).install(Server("by hand", on_call_tool=work))
    async with wired(server, revision) as wire:
        values = [progress for progress, _ in await seen(wire, ticks=3)]
    assert values == sorted(set(values))
    assert values[0] == 5
