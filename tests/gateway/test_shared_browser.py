"""Two people at a shared gateway, each in a real Chromium.

They sign in at a real OpenID provider (Canaille), see their own questions, and connect an account of their own at the
server behind it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect
from tests.desks.web.browsing import open_browser
from tests.gateway.accounts.diary import open_diary
from tests.gateway.teams import Team, questions, team
from tests.gateway.test_sign_in import Known
from tests.pages.oauth.test_browser import answer, register, sign_in
from tests.pages.test_browser import running, tab
from tests.server.peers import ROOT, free_port, text_of

from handraise.gateway.servers import ServerSet
from handraise.gateway.upstreams import Upstream
from handraise.revisions import Revision
from handraise.vault.keys import new_key

pytestmark = [pytest.mark.anyio, pytest.mark.stranger, pytest.mark.slow, pytest.mark.shows("W7", "W8")]

NARROW = {"width": 360, "height": 740}


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with open_browser() as opened:
        yield opened


@pytest.fixture
async def issuer() -> AsyncIterator[str]:
    port = free_port()
    command = [sys.executable, str(ROOT / "examples/local_provider.py"), str(port)]
    async with running(command, {**os.environ, "PYTHONWARNINGS": "ignore"}, port):
        yield f"http://127.0.0.1:{port}"


async def test_two_people_sign_in_see_their_own_questions_and_connect_their_own_accounts(
    browser: Browser, issuer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDRAISE_VAULT_KEY", new_key().hex())
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    port = free_port()
    desk = await register(issuer, f"http://127.0.0.1:{port}/entered", "openid")
    monkeypatch.setenv("HANDRAISE_DESK_SECRET", desk["client_secret"])
    async with AsyncExitStack() as stack:
        diary = await stack.enter_async_context(open_diary(host="localhost"))
        upstream = Upstream("diary", url=diary.mcp)
        shared = await stack.enter_async_context(
            team(
                tmp_path,
                tokens=Known(issuer),
                issuer=issuer,
                desk_client=desk["client_id"],
                servers=ServerSet(upstream),
                hold=60,
                port=port,
            )
        )
        ann = await stack.enter_async_context(tab(browser))
        bob = await stack.enter_async_context(tab(browser, viewport=NARROW))
        writing = [asyncio.create_task(_write(shared, name)) for name in ("ann", "bob")]
        await questions(shared.queue, 2)
        for page, name in ((ann, "ann"), (bob, "bob")):
            diary.provider.lets_in = f"{name}@diary"
            await _enter(page, shared.url, name)
            await _connect(page, name)
        assert [await each for each in writing] == ["ann@diary wrote ann", "bob@diary wrote bob"]


async def _write(shared: Team, name: str) -> str:
    async with shared.client(Revision.NOVEMBER_2025, name) as client:
        return text_of(await client.call_tool("write", {"text": name}))


async def _enter(page: Page, url: str, name: str) -> None:
    """Sign in at the provider, and come to the desk."""
    await page.goto(url)
    await sign_in(page, name)
    asks, came_back = page.locator("button[name=answer][value=accept]"), page.locator("header.top")
    await asks.or_(came_back).first.wait_for()
    if await asks.count():  # it remembers what was agreed to before
        await answer(page, "accept")
    await _look(page, f"{name}-1-door")
    await page.get_by_role("button").first.click()
    await expect(page.locator("#inbox a")).to_have_count(1)
    await _look(page, f"{name}-2-inbox")


async def _connect(page: Page, name: str) -> None:
    """Agree to open the link, and do there what is asked for."""
    await page.locator("#inbox a").click()
    await expect(page.locator("main")).to_contain_text("can be used with an account of your own")
    await _look(page, f"{name}-3-question")
    await page.get_by_role("button", name="Open this link").click()
    await expect(page.get_by_role("link", name="Open the link")).to_be_visible()
    await _look(page, f"{name}-4-agreed")
    async with page.expect_popup() as opening:
        await page.get_by_role("link", name="Open the link").first.click()
    opened = await opening.value
    await expect(opened.locator("h1")).to_have_text("Connect your diary account")
    await _look(opened, f"{name}-5-page")
    await opened.get_by_role("link", name="Go on to localhost").click()
    await expect(opened.locator("h1")).to_have_text("Done")
    await _look(opened, f"{name}-6-done")


async def _look(page: Page, name: str) -> None:
    """Keep a picture where somebody wants to see it."""
    if folder := os.environ.get("HANDRAISE_PICTURES"):
        await page.screenshot(path=f"{folder}/{name}.png", full_page=True)
