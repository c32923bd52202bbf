"""A real Chromium, worked by keyboard only."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Browser, BrowserContext, CDPSession, Page, async_playwright, expect

from handraise.desks import Decision, Queue, Waiting
from handraise.desks.codes import AnswerCode
from handraise.desks.gate import PolicyGate
from handraise.desks.web import WebDesk
from handraise.policy import Policy, Settings

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-site-isolation-trials",
    "--process-per-site",  # a process of its own for each page takes a tenth of the time of all these tests
)
_MOST_TABS = 80
expect.set_options(timeout=30_000)  # a busy computer is no failure


def chromium() -> str:
    """Where Chromium is. `make setup` installs it; without it these tests fail."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert found, "no Chromium on the PATH: call make setup"
    return found


async def bounded(closing: Coroutine[Any, Any, None]) -> None:
    """Close something of Chromium's. A page that still waits for a passkey may never say that it is closed."""
    with suppress(TimeoutError):
        async with asyncio.timeout(10):
            await closing


@asynccontextmanager
async def open_browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield browser
        await bounded(browser.close())


@dataclass
class Person:
    """Somebody at a keyboard in front of one tab."""

    page: Page

    async def tab_to(self, selector: str) -> None:
        """Press Tab until the control has the focus, as one without a mouse does."""
        control = self.page.locator(selector)
        for _ in range(_MOST_TABS):
            if await control.evaluate("element => element === document.activeElement"):
                return
            await self.page.keyboard.press("Tab")
        raise AssertionError(f"{selector} cannot be reached by keyboard")

    async def press(self, selector: str, key: str = "Enter") -> None:
        """Go to a control and press a key on it."""
        await self.tab_to(selector)
        await self.page.keyboard.press(key)

    async def type(self, selector: str, text: str) -> None:
        """Go to a field, empty it and type."""
        await self.tab_to(selector)
        await self.page.keyboard.press("Control+a")
        await self.page.keyboard.press("Delete")
        await self.page.keyboard.type(text)

    async def heading(self, text: str) -> None:
        """Wait until the page's heading says so."""
        try:
            await expect(self.page.locator("h1")).to_contain_text(text)
        except AssertionError as error:
            error.add_note(f"The page says:\n{await self.page.locator('main').inner_text()}")
            raise

    async def open(self, at: int = 0) -> None:
        """Open a question from the list."""
        link = self.page.locator("#inbox a").nth(at)
        await expect(link).to_be_visible()
        await self.press(f"#{await link.get_attribute('id')}")
        await self.page.locator("form[data-arms]").wait_for()
        await self.page.wait_for_load_state()  # with its style: only then can it be measured

    async def click_question(self, at: int = 0) -> None:
        """Click a question in the list, and wait until its page has its style: only then can it be measured."""
        await self.page.locator("#inbox a").nth(at).click()
        await self.page.wait_for_url("**/q/*")

    async def armed(self) -> None:
        """Wait until the page's buttons count."""
        await self.page.locator("form[data-armed=yes]").wait_for()


@dataclass
class Room:
    """A served desk, and the people who came in."""

    queue: Queue
    desk: WebDesk
    browser: Browser
    gate: PolicyGate
    asked: list[asyncio.Task[Decision]] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)

    async def put(self, *questions: Waiting) -> None:
        """Ask."""
        self.asked += [asyncio.create_task(self.queue.put(question)) for question in questions]
        await asyncio.sleep(0)

    async def decided(self, at: int = 0) -> Decision:
        """How a question ended."""
        async with asyncio.timeout(60):
            return await self.asked[at]

    async def come_in(self, **how: Any) -> Person:
        """Follow a sign-in link and press the one button that it shows."""
        context = await self.browser.new_context(**how)
        context.set_default_timeout(30_000)
        self.contexts.append(context)
        person = Person(await context.new_page())
        await person.page.goto(self.desk.sign_in_url())
        await person.press("main button")
        await person.page.locator("#inbox").wait_for()
        return person

    async def leave(self) -> None:
        for context in self.contexts:
            await bounded(context.close())
        for task in self.asked:
            task.cancel()
        await asyncio.gather(*self.asked, return_exceptions=True)


async def has_passkeys(page: Page, transport: str = "internal") -> CDPSession:
    """Give a tab a device for passkeys, in the computer or on "usb". It says yes at once, as the right finger does."""
    device = await page.context.new_cdp_session(page)
    await device.send("WebAuthn.enable")
    how = {
        "protocol": "ctap2",
        "transport": transport,
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    await device.send("WebAuthn.addVirtualAuthenticator", {"options": how})
    return device


@asynccontextmanager
async def open_room(browser: Browser, settings: Settings | None = None, **more: Any) -> AsyncIterator[Room]:
    queue, gate = Queue(), PolicyGate(Policy(settings))
    async with WebDesk(queue, gate=gate, code=AnswerCode(), **more) as desk:
        room = Room(queue, desk, browser, gate)
        try:
            yield room
        finally:
            await room.leave()
