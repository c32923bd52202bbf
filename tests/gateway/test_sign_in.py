"""Signing in to the desk at the issuer of the tokens: the person at the desk is the person of the client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from tests.gateway.teams import Browser, handles, questions, team
from tests.gateway.test_http import served
from tests.pages.oauth.authority import open_authority

from handraise.questions import Person
from handraise.revisions import Revision

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W7")]


class Known:
    """Tokens that name their person."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer

    async def person(self, token: str) -> Person | None:
        return Person(self._issuer, token, "token")


async def test_people_sign_in_at_the_issuer_and_see_their_own_questions(tmp_path: Path) -> None:
    async with (
        open_authority() as authority,
        team(
            tmp_path, tokens=Known(authority.issuer), issuer=authority.issuer, desk_client="pages"
        ) as shared,
        shared.client(Revision.JULY_2026, "ann") as client,
    ):
        await client.call_tool("delete", {"title": "plans"})
        await questions(shared.queue, 1)
        seen = {}
        for user in ("ann", "bob"):
            browser = Browser(shared)
            sent = await browser.get("/")
            browser.keep_cookie(sent)
            assert await browser.sign_in(authority.agree(sent.headers["location"], user)) == 303
            seen[user] = handles(await browser.see())
            await browser.aclose()
    assert (len(seen["ann"]), len(seen["bob"])) == (1, 0)


async def test_a_browser_that_did_not_leave_does_not_come_back_as_somebody(tmp_path: Path) -> None:
    async with (
        open_authority() as authority,
        team(
            tmp_path, tokens=Known(authority.issuer), issuer=authority.issuer, desk_client="pages"
        ) as shared,
    ):
        left, other = Browser(shared), Browser(shared)
        sent = await left.get("/")
        assert await other.sign_in(authority.agree(sent.headers["location"], "bob")) == 403
        await left.aclose()
        await other.aclose()


async def test_an_issuer_that_does_not_answer_is_not_asked_at_every_visit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has to be known to visit the desk."""
    asked: list[str] = []

    async def silent(request: Request) -> Response:
        asked.append(request.url.path)
        return Response(status_code=503)

    async with served(Starlette(routes=[Route("/{path:path}", silent)]), "off") as url:
        issuer = url.removesuffix("/mcp")
        known = team(tmp_path, tokens=Known(issuer), issuer=issuer, desk_client="pages")
        async with known as shared, aclosing(Browser(shared)) as visitor:
            visits = await asyncio.gather(*(visitor.get("/") for _ in range(20)))
            assert {visit.status_code for visit in visits} == {503}
            assert len(asked) == 1
            monkeypatch.setattr("handraise.gateway.shared_desk.time.monotonic", later(60))
            await visitor.get("/")
            assert len(asked) == 2, "some time later"


def later(seconds: float) -> Callable[[], float]:
    now = time.monotonic
    return lambda: now() + seconds


async def test_a_flood_of_sign_ins_keeps_nobody_from_signing_in(tmp_path: Path) -> None:
    """Nobody has to be known to begin one."""
    async with (
        open_authority() as authority,
        team(
            tmp_path, tokens=Known(authority.issuer), issuer=authority.issuer, desk_client="pages"
        ) as shared,
        aclosing(Browser(shared)) as honest,
        aclosing(Browser(shared)) as flood,
    ):
        sent = await honest.get("/")
        honest.keep_cookie(sent)
        for _ in range(1_001):
            assert (await flood.get("/")).status_code == 303
        way_back = authority.agree(sent.headers["location"], "ann")
        assert await honest.sign_in(way_back) == 303
        honest.keep_cookie(sent)
        assert await honest.sign_in(way_back) == 403, "it works once"
