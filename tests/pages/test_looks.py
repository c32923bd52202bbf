"""How pages look and behave in a real Chromium: with and without JavaScript, by keyboard, on every screen."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import anyio
import pytest
from playwright.async_api import Browser, Page, expect
from tests.another_user import only_root
from tests.desks.web.browsing import Person as AtKeyboard
from tests.pages.house import ABOUT, ME, TOKEN, VALUE, House
from tests.strangers.axe import require_accessible

from handraise.forms import Form
from handraise.pages import Brand, OutsidePage, SecretField, SetupPage, ThisComputer
from handraise.questions import Accepted
from handraise.site.listener import Listener
from handraise.vault import Secret

pytestmark = pytest.mark.stranger

PICTURES = os.environ.get("HANDRAISE_PICTURES")


@dataclass
class Mail:
    host: str
    port: int = 993
    security: Literal["tls", "starttls"] = "tls"


SETUP = SetupPage(
    "Set up your mail account",
    Form.of(Mail),
    (
        SecretField(
            "password", "Password", description="The one for this device, if your provider has them."
        ),
        SecretField("key", "Signing key", hint="Begins with -----BEGIN", required=False, multiline=True),
    ),
    service="mail",
)
PAY = OutsidePage("Pay 5 € for the print", "https://pay.example/checkout?order=7", lambda _: "Not paid yet.")


@asynccontextmanager
async def open_house(**options: Any) -> AsyncIterator[House]:
    """A house that real browsers of this computer reach."""
    house, listener = House(ThisComputer(), "system", "http://127.0.0.1", **options), Listener("The house")
    await listener.start(house.site.app)
    house.url = listener.base_url
    try:
        yield house
    finally:
        await listener.stop()


@asynccontextmanager
async def tab(browser: Browser, look: str = "light", **how: Any) -> AsyncIterator[Page]:
    width = 390 if "phone" in look else 1000
    scheme: Any = "dark" if "dark" in look else "light"
    context = await browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800}, **how)
    context.set_default_timeout(30_000)
    try:
        yield await context.new_page()
    finally:
        await context.close()


async def test_a_secret_is_shown_and_hidden_on_demand_and_pasted_with_blanks_around(browser: Browser) -> None:
    async with open_house() as house, tab(browser) as page:
        visit, person = house.ask(TOKEN, ME), AtKeyboard(page)
        await page.goto(house.site.link(visit))
        await expect(page.locator("#s0")).to_have_attribute("type", "password")
        await person.type("#s0", f"  {VALUE} ")
        await person.press("button.show")
        await expect(page.locator("#s0")).to_have_attribute("type", "text")
        await expect(page.locator("#s0")).to_be_focused()
        await person.press("button.show", "Space")
        await expect(page.locator("#s0")).to_have_attribute("type", "password")
        await person.press("button[value=enter]")
        await person.heading("Done")
        assert house.answer == Accepted(Secret(VALUE))


async def test_everything_works_without_javascript(browser: Browser) -> None:
    async with open_house() as house, tab(browser, java_script_enabled=False) as page:
        visit, person = house.ask(SETUP, ME), AtKeyboard(page)
        await page.goto(house.site.link(visit))
        await expect(page.locator("button.show").first).to_be_hidden()
        await person.type("#f0", "mail.example")
        await person.press("button[value=enter]")
        await expect(page.locator("#summary")).to_be_visible()
        await expect(page.locator("#s0")).to_be_focused()
        await person.type("#s0", "hunter2")
        await page.keyboard.press("Enter")
        await person.heading("Done")


@pytest.mark.shows("L7", "L10")
@only_root
async def test_a_program_of_another_user_gets_nothing_from_a_page_that_it_knows_of() -> None:
    async with open_house() as house:
        visit = house.ask(TOKEN, ME)
        code = (
            "import os, socket; os.setuid(65534); one = socket.socket()\n"
            f"one.connect(('127.0.0.1', {urlsplit(house.url).port}))\n"
            f"one.sendall(b'GET /{visit.id} HTTP/1.1\\r\\nHost: {urlsplit(house.url).netloc}\\r\\n"
            "Connection: close\\r\\n\\r\\n')\n"
            "while got := one.recv(4096): print(got.decode())"
        )
        result = await anyio.run_process([sys.executable, "-c", code])
        assert b"HTTP/1.1 403" in result.stdout
        assert b"GitHub" not in result.stdout
        assert house.recorded == [("refused", "another person")]


async def test_another_site_cannot_frame_a_page(browser: Browser) -> None:
    async with open_house() as house, tab(browser) as page:
        visit = house.ask(TOKEN, ME)
        link = house.site.link(visit)
        await page.route(
            "https://evil.example/",
            lambda route: route.fulfill(body=f'<iframe src="{link}"></iframe>', content_type="text/html"),
        )
        await page.goto("https://evil.example/")
        frame = page.frames[-1]
        assert "GitHub" not in await frame.content()


async def test_another_site_cannot_post_to_a_page(browser: Browser) -> None:
    async with open_house() as house, tab(browser) as page:
        visit = house.ask(TOKEN, ME)
        await page.goto(house.site.link(visit))
        token = await page.locator("input[name=csrf]").first.input_value()
        body = (
            f'<form method="post" action="{house.site.link(visit)}"><input name="csrf" value="{token}">'
            f'<input name="s0" value="{VALUE}"><button name="do" value="enter">Win</button></form>'
        )
        await page.route(
            "https://evil.example/", lambda route: route.fulfill(body=body, content_type="text/html")
        )
        await page.goto("https://evil.example/")
        await page.locator("button").click()
        await expect(page.locator("body")).to_contain_text("Another site may not send this.")
        assert house.settled == []


@pytest.mark.shows("L9")
@pytest.mark.parametrize("look", ["light", "dark phone"])
async def test_an_accessibility_checker_finds_nothing(browser: Browser, look: str) -> None:
    async with (
        open_house(brand=Brand("Notebook", colour="#7a1fa2")) as house,
        tab(browser, look, bypass_csp=True) as page,
    ):
        person = AtKeyboard(page)
        secret, setup, pay = (
            house.visits.open(one, ME, ABOUT, key=one.title, seconds=600, code=None)
            for one in (TOKEN, SETUP, PAY)
        )
        await page.goto(house.site.link(secret))
        await check(page, f"{look}-secret")
        await page.goto(house.site.link(setup))
        await person.press("button[value=enter]")
        await expect(page.locator("#summary")).to_be_visible()
        await check(page, f"{look}-setup")
        await page.goto(house.site.link(pay))
        await page.goto(f"{house.url}/back?state={pay.expects}")
        await expect(page.locator("main")).to_contain_text("Not paid yet.")
        await check(page, f"{look}-pay-waiting")
        await person.press("button[value=decline]")
        await person.heading("Declined")
        await check(page, f"{look}-declined")


@pytest.mark.shows("L9")
async def test_the_pictures_of_the_documentation_show_the_button_without_scrolling(
    browser: Browser, tmp_path: Path
) -> None:
    folder = Path(PICTURES) if PICTURES else tmp_path
    for name, asked, look in (("page-secret", TOKEN, "light"), ("page-setup", SETUP, "phone")):
        async with open_house(brand=Brand("Notebook", colour="#7a1fa2")) as house, tab(browser, look) as page:
            await page.goto(house.site.link(house.ask(asked, ME)))
            for way in ("enter", "decline", "cancel"):
                await expect(page.locator(f"button[value={way}]")).to_be_in_viewport(ratio=1)
            await expect(page.locator(".brand")).to_have_css("font-size", re.compile(r"1\d(\.\d+)?px"))
            await page.screenshot(path=folder / f"{name}.png")


async def test_the_page_for_a_code_is_accessible_too(browser: Browser) -> None:
    async with open_house() as house, tab(browser, bypass_csp=True) as page:
        house.site._sign_in = ThisComputer(1, lambda *_: None)
        visit, person = house.ask(TOKEN, ME, code="ABCDE-23456"), AtKeyboard(page)
        await page.goto(house.site.link(visit))
        await person.type("#code", "wrong")
        await page.keyboard.press("Enter")
        await expect(page.locator("#code-problem")).to_be_visible()
        await check(page, "code")
        await person.type("#code", "abcde23456")
        await page.keyboard.press("Enter")
        await person.heading("GitHub token")


async def check(page: Page, name: str) -> None:
    """The page is accessible; somebody who wants to see it gets a picture."""
    if PICTURES:
        await page.screenshot(path=f"{PICTURES}/{name}.png", full_page=True)
    await require_accessible(page)
