"""Passkeys at a shared desk, in a real Chromium: a link of the operator's adds one, and every yes needs it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect
from tests.desks.web.browsing import Person, bounded, has_passkeys
from tests.gateway.teams import questions, team
from tests.server.peers import Person as AtClient
from tests.server.peers import accept, text_of

from handraise.desks.gate import PolicyGate
from handraise.desks.passkeys import PasskeyFile
from handraise.policy import Policy, Settings
from handraise.policy.settings import DeskSettings
from handraise.revisions import Revision

pytestmark = [pytest.mark.anyio, pytest.mark.stranger, pytest.mark.shows("W9b", "W7")]
YES = "button.passkey"


def shared_rule() -> PolicyGate:
    return PolicyGate(Policy(Settings(desk=DeskSettings(passkey=("shared",)))), shared=True)


async def tab(browser: Browser) -> Page:
    context = await browser.new_context()
    context.set_default_timeout(30_000)
    return await context.new_page()


async def come(page: Page, link: str) -> Person:
    """Follow a link, and press its one button."""
    await page.goto(link)
    person = Person(page)
    await person.press("main button")
    await expect(page).not_to_have_url(link)
    return person


async def test_everybody_at_a_shared_desk_says_yes_with_their_own_passkey(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    async with team(tmp_path, gate=shared_rule(), host="localhost", hold=60) as shared:
        tokens = {name: shared.people.add(name) for name in ("ann", "bob")}
        page = await tab(browser)
        await has_passkeys(page)
        await come(page, shared.invitation("bob"))
        capable = AtClient(accept(answer="never"))
        async with shared.client(Revision.NOVEMBER_2025, tokens["ann"], capable) as client:
            calling = asyncio.create_task(client.call_tool("rename", {"title": "a"}))
            await questions(shared.queue, 1)
            ann = await come(page, shared.invitation("ann"))
            await ann.open()
            await expect(page.locator(".needs-passkey")).to_contain_text("--passkey")
            await expect(page.locator(YES)).to_have_count(0)

            await come(page, shared.invitation("ann", passkey=True))
            await ann.heading("Add your passkey")
            await ann.armed()
            await ann.press(YES)
            await ann.heading("Your passkey works")
            (kept,) = PasskeyFile().all()
            assert (kept.rp_id, kept.owner) == ("localhost", shared.queue.waiting()[0].person.key)

            await come(page, shared.invitation("ann"))
            await ann.open()
            for question, answer in (("New name of a?", "b"), ("Why b?", "short")):  # both on the same page
                await expect(page.locator("main:has(input[type=text]) blockquote")).to_contain_text(question)
                await ann.type("main input[type=text]", answer)
                await ann.armed()
                await ann.press(YES)
            await ann.heading("Sent")
            assert text_of(await calling) == "a is b because short"
        assert capable.asked == []  # its own dialog could not have asked for a passkey
        await bounded(page.context.close())


async def test_a_link_without_passkey_changes_none(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    async with team(tmp_path, gate=shared_rule(), host="localhost") as shared:
        shared.people.add("ann")
        page = await tab(browser)
        await come(page, shared.invitation("ann"))
        await page.locator("#inbox").wait_for()
        answer = await page.goto(page.url + "passkey")
        assert answer is not None
        assert answer.status == 403
        await bounded(page.context.close())
