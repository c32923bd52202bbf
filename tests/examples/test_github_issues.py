"""The example that connects an account and has a key entered, with a provider on this computer, in Chromium."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest
from mcp import StdioServerParameters
from playwright.async_api import Browser, expect
from tests.client.hosts import host
from tests.pages.oauth.test_browser import answer, links, sign_in
from tests.pages.test_browser import tab
from tests.server.peers import ROOT, text_of

from handraise.desks.scripted import Line
from handraise.revisions import Revision

pytestmark = [pytest.mark.stranger, pytest.mark.slow]

SCRIPT = [
    Line("accept", message="Connect your Issue Place account: this"),
    Line("accept", message="Chat key: please enter it"),
    Line("leave", repeat=True),
]
PROGRAM = str(ROOT / "examples/github_issues.py")


async def test_an_issue_is_created_under_the_persons_own_name(browser: Browser, programs: Path) -> None:
    target = StdioServerParameters(
        command=str(programs / "python"), args=[PROGRAM, "--local"], cwd=ROOT, env={**os.environ}
    )
    async with (
        host(target, Revision.JULY_2026, SCRIPT) as here,
        tab(browser) as page,
        anyio.create_task_group() as calls,
    ):
        results: list[str] = []

        async def call() -> None:
            results.append(text_of(await here.client.call_tool("create_issue", {"title": "Paint"})))

        calls.start_soon(call)
        (connect,) = await links(here, 1)
        await page.goto(connect)
        await page.get_by_role("link", name="Go on to").click()
        await sign_in(page, "ann")
        await answer(page, "accept")
        await expect(page.locator("h1")).to_have_text("Done")
        _, enter = await links(here, 2)
        await page.goto(enter)
        await page.locator("#s0").fill("chat-key-1234")
        await page.get_by_role("button", name="Save").click()
        with anyio.fail_after(60):
            while not results:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        told = "the chat would be told with a key of 13 characters"
        assert results == [f"ann created 'Paint', and {told}."]


async def test_help_says_how_to_try_it(programs: Path) -> None:
    shown = await anyio.run_process([str(programs / "python"), PROGRAM, "--help"])
    text = shown.stdout.decode()
    assert "python examples/github_issues.py --local" in text
    assert "--repository OWNER/NAME" in text
