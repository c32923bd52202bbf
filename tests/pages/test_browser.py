"""Pages in a real Chromium, asked for by real servers through the client kit."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2 as httpx
import pytest
from mcp import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from playwright.async_api import Browser, BrowserContext, Page, expect
from tests.client.hosts import Host, host
from tests.server.peers import ROOT, free_port, text_of

from handraise.desks.scripted import Line
from handraise.ledger import Ledger
from handraise.questions import UrlQuestion
from handraise.revisions import Revision
from handraise.vault.keys import new_key

pytestmark = [pytest.mark.stranger, pytest.mark.slow]

SECRET = "ghp_Qm4nTypedByAPerson7Z"
WRONG = "ghp_Qm4nTypedByAPerson7Y"
OPENS = [Line("accept"), Line("leave", repeat=True)]


@asynccontextmanager
async def notebook(transport: str, folder: Path) -> AsyncIterator[Any]:
    """The server, as a target for a client; what it writes to the client is in `wire`."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HANDRAISE_VAULT_KEY": new_key().hex()}
    command = [sys.executable, "-m", "tests.pages.notebook", transport, str(folder)]
    if transport == "stdio":
        line = f"{shlex.join(command)} 2>{folder}/stderr | tee {folder}/wire"
        yield StdioServerParameters(command="sh", args=["-c", line], cwd=ROOT, env=environment)
        return
    port = free_port()
    async with (
        running([*command, str(port)], environment, port),
        httpx.AsyncClient(headers={"authorization": "Bearer ann"}, timeout=60) as web,
    ):
        yield streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=web)


@asynccontextmanager
async def running(command: list[str], environment: dict[str, str], port: int) -> AsyncIterator[None]:
    """A process, from when it listens until it is not needed."""
    process = await anyio.open_process(command, cwd=ROOT, env=environment, stdout=None, stderr=None)
    try:
        with anyio.fail_after(60):
            while True:
                try:
                    stream = await anyio.connect_tcp("127.0.0.1", port)
                    await stream.aclose()
                    break
                except OSError:
                    await anyio.sleep(0.05)
        yield
    finally:
        process.terminate()
        await process.wait()


async def asked_link(here: Host) -> str:
    """The link that the person agreed to open, when they did."""
    with anyio.fail_after(60):
        while not here.events and not any(waiting.browsing for waiting in here.queue.waiting()):  # noqa: ASYNC110
            await anyio.sleep(0.01)
    question = here.gate.seen[0].question
    assert isinstance(question, UrlQuestion)
    return question.url


@asynccontextmanager
async def tab(browser: Browser, **how: Any) -> AsyncIterator[Page]:
    context: BrowserContext = await browser.new_context(**how)
    context.set_default_timeout(30_000)
    try:
        yield await context.new_page()
    finally:
        await context.close()


async def sign_in(page: Page, user: str) -> None:
    """On the author's own site, where the page sent them."""
    await expect(page.locator("body")).to_contain_text("Who are you?")
    await page.goto(f"{page.url}&as={user}")


@pytest.mark.shows("S5", "L7", "L9", "L10", "L11")
@pytest.mark.parametrize(
    ("transport", "revision"), [("stdio", Revision.JULY_2026), ("http", Revision.NOVEMBER_2025)], ids=str
)
async def test_a_typed_secret_reaches_the_tool_and_appears_nowhere_else(
    browser: Browser, tmp_path: Path, transport: str, revision: Revision
) -> None:
    async with (
        aclosing(Ledger.at(tmp_path / "ledger.db", keeping="all")) as ledger,
        notebook(transport, tmp_path) as target,
        host(target, revision, OPENS, ledger=ledger) as here,
        anyio.create_task_group() as calls,
        tab(browser) as page,
    ):
        results: list[Any] = []

        async def call() -> None:
            results.append(await here.client.call_tool("create_issue", {"title": "Paint"}))

        calls.start_soon(call)
        link = await asked_link(here)
        if transport == "http":
            async with tab(browser) as others:
                await others.goto(link)
                await sign_in(others, "mallory")
                await expect(others.locator("h1")).to_have_text("This page is for somebody else")
        await page.goto(link)
        if transport == "http":
            await sign_in(page, "ann")
        await expect(page.locator("h1")).to_have_text("GitHub token")
        await expect(page.locator("details.who")).to_contain_text("create_issue")
        field = page.locator("#s0")
        await field.fill(WRONG)
        await page.keyboard.press("Enter")
        await expect(page.locator("#summary")).to_be_visible()
        await expect(field).to_have_value("")
        await field.fill(SECRET)
        await page.get_by_role("button", name="Save").click()
        await expect(page.locator("h1")).to_have_text("Done")
        with anyio.fail_after(60):
            while not results:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert text_of(results[0]) == "Created “Paint” with a token of 24 characters."
        again = await here.client.call_tool("create_issue", {"title": "Again"})
        assert not again.is_error
        assert len(here.gate.seen) <= 3, "asked once; the second call has it from the vault"
        await page.reload()
        await expect(page.locator("h1")).to_have_text("Done")
        assert_nowhere(tmp_path)
    assert_nowhere(tmp_path)


def assert_nowhere(folder: Path) -> None:
    """Not on the wire, in the log, in the store, in the ledger, or among the arguments of a process."""
    written = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert b"Created" in written["wire"]
    assert b"created with Secret(" in written["log"]
    assert b"github" in written["store.db"] + written.get("store.db-wal", b"")
    assert written["ledger.db"]
    arguments = b"".join(_arguments(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    for typed in (SECRET, WRONG):
        for name, content in written.items():
            assert typed.encode() not in content, name
        assert typed.encode() not in arguments


def _arguments(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""
