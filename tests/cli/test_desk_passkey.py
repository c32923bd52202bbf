"""`handraise desk passkey` at a real terminal, with Chromium at the page that it opens."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page
from tests.command import HANDRAISE
from tests.desks.web.browsing import Person, has_passkeys, open_browser
from tests.gateway.sides import make_home
from typer.testing import CliRunner

from handraise.cli.app import app
from handraise.desks.codes import desk_code_file, new_desk_code

PASSKEY = (*HANDRAISE, "desk", "passkey")


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    made = make_home(tmp_path)
    del made["DISPLAY"]  # no browser can be opened: the link is shown, and the test opens it
    return made


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with open_browser() as opened:
        yield opened


@dataclass
class Terminal:
    """A command in a terminal of its own."""

    shown: str = ""
    more: asyncio.Event = field(default_factory=asyncio.Event)
    process: asyncio.subprocess.Process | None = None

    async def says(self, pattern: str) -> str:
        """Wait until it shows this."""
        async with asyncio.timeout(60):
            while (found := re.search(pattern, self.shown)) is None:
                self.more.clear()
                await self.more.wait()
        return found[0]

    async def ends(self) -> int:
        assert self.process is not None
        async with asyncio.timeout(60):
            return await self.process.wait()


@asynccontextmanager
async def terminal(home: dict[str, str], *words: str) -> AsyncIterator[Terminal]:
    ours, theirs = pty.openpty()
    screen, loop = Terminal(), asyncio.get_running_loop()

    def read() -> None:
        with suppress(OSError):
            screen.shown += os.read(ours, 65536).decode(errors="replace")
        screen.more.set()

    loop.add_reader(ours, read)
    screen.process = await asyncio.create_subprocess_exec(
        *PASSKEY, *words, env=home, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    try:
        yield screen
    finally:
        if screen.process.returncode is None:
            screen.process.kill()
            await screen.process.wait()
        loop.remove_reader(ours)
        os.close(ours)
        os.close(theirs)


async def press(screen: Terminal, page: Page, code: str) -> Person:
    """Open the page that the terminal shows, sign in, and press its one button."""
    person = Person(page)
    await page.goto(await screen.says(r"http://localhost:\d+/sign-in/[\w-]+"))
    await page.locator("input[name=code]").fill(code)  # no gateway tells which programs are a client's
    await person.press("main button:not(.passkey)")
    await page.locator("form[data-trouble]").wait_for()
    await person.armed()
    await person.press("button.passkey")
    return person


def test_it_needs_a_person_at_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    done = CliRunner().invoke(app, ["desk", "passkey", "add"])
    assert done.exit_code == 2
    assert "needs you at a terminal" in done.output
    assert CliRunner().invoke(app, ["desk", "passkey", "list"]).output.startswith("You have no passkey.")
    removed = CliRunner().invoke(app, ["desk", "passkey", "remove", "phone"])
    assert (removed.exit_code, "you have none" in removed.output) == (2, True)


@pytest.mark.slow
async def test_it_says_how_long_it_waits_and_changes_nothing_when_it_is_stopped(
    home: dict[str, str], tmp_path: Path
) -> None:
    async with terminal(home, "add") as screen:
        await screen.says(
            r"Open this page in a browser on this computer:\s+http://localhost:\d+/sign-in/[\w-]+"
        )
        await screen.says(r"Waiting for \d+ minutes; Ctrl\+C stops\.")
        assert screen.process is not None
        screen.process.send_signal(signal.SIGINT)
        await screen.says(r"Nothing was changed\.")
        assert await screen.ends() == 1
    assert not (tmp_path / "data/handraise/passkeys.json").exists()


@pytest.mark.stranger
@pytest.mark.shows("W9b")
async def test_passkeys_are_added_listed_and_removed(
    home: dict[str, str], tmp_path: Path, browser: Browser
) -> None:
    code = new_desk_code(desk_code_file(home))
    context = await browser.new_context()
    context.set_default_timeout(30_000)
    page = await context.new_page()
    await has_passkeys(page)
    async with terminal(home, "add", "--name", "laptop") as screen:
        person = await press(screen, page, code)
        await person.heading("Your passkey works")
        await screen.says("Added 'laptop'")
        assert await screen.ends() == 0
    file = tmp_path / "data/handraise/passkeys.json"
    assert file.stat().st_mode & 0o777 == 0o600
    async with terminal(home, "list", "--json") as screen:
        listed = json.loads(await screen.says(r"\[.*\]"))
    assert [(each["name"], each["host"]) for each in listed] == [("laptop", "localhost")]

    stranger = await (await browser.new_context()).new_page()
    await has_passkeys(stranger)
    async with terminal(home, "add") as screen:  # somebody with a shell, and no passkey of the person's
        await press(screen, stranger, code)
        await screen.says("was cancelled, or took too long")
        assert "First, the passkey that you have" in await stranger.locator("h1").inner_text()
    assert len(json.loads(file.read_text())["passkeys"]) == 1

    async with terminal(home, "remove", "laptop") as screen:
        await press(screen, page, code)
        await screen.says("Removed 'laptop'")
        assert await screen.ends() == 0
    assert json.loads(file.read_text()) == {"passkeys": []}


@pytest.mark.stranger
async def test_a_browser_without_passkeys_ends_it_with_what_to_do(
    home: dict[str, str], browser: Browser
) -> None:
    code = new_desk_code(desk_code_file(home))
    page = await (await browser.new_context()).new_page()
    await page.add_init_script("delete window.PublicKeyCredential")
    async with terminal(home, "add") as screen:
        await press(screen, page, code)
        await screen.says("This browser has no passkeys.")
        assert await screen.ends() == 1
