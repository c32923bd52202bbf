"""Sessions over HTTP that nobody uses any more end by themselves, and nobody has them without bound."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.gateway.shared.teams import Team, team
from tests.gateway.shared.test_shared import HELLO, LIST

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W7")]


async def begin(shared: Team, token: str) -> str:
    return (await shared.post(token, HELLO)).headers["mcp-session-id"]


async def works(shared: Team, token: str, session: str) -> bool:
    return (await shared.post(token, LIST, **{"mcp-session-id": session})).status_code == 200


async def test_a_session_that_rested_for_an_hour_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with team(tmp_path) as shared:
        ann = shared.people.add("ann")
        old = await begin(shared, ann)
        monkeypatch.setattr("handraise.gateway.http.sessions.IDLE", 0.0)
        new = await begin(shared, ann)
        assert not await works(shared, ann, old), "its client begins a new one"
        assert await works(shared, ann, new)


async def test_whoever_has_too_many_sessions_loses_the_one_that_rested_longest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handraise.gateway.http.sessions.MOST", 3)
    async with team(tmp_path) as shared:
        ann, bob = shared.people.add("ann"), shared.people.add("bob")
        bobs = await begin(shared, bob)
        first, second, third = [await begin(shared, ann) for _ in range(3)]
        assert await works(shared, ann, first)
        fourth = await begin(shared, ann)
        assert [await works(shared, ann, each) for each in (first, second, third, fourth)] == [
            True,
            False,
            True,
            True,
        ]
        assert await works(shared, bob, bobs), "nobody makes room for somebody else"


async def test_a_session_with_a_call_under_way_is_not_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    from tests.gateway.shared.teams import questions

    async with team(tmp_path, hold=20) as shared:
        ann = shared.people.add("ann")
        old = await begin(shared, ann)
        call = {**LIST, "method": "tools/call", "params": {"name": "delete", "arguments": {"title": "x"}}}
        calling = asyncio.create_task(shared.post(ann, call, **{"mcp-session-id": old}))
        (waiting,) = await questions(shared.queue, 1)
        monkeypatch.setattr("handraise.gateway.http.sessions.IDLE", 0.0)
        await begin(shared, ann)
        assert shared.queue.waiting() == (waiting,)
        assert await works(shared, ann, old)
        calling.cancel()
