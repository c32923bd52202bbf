"""Connecting an account in a real Chromium, at a real OpenID provider (Canaille), for a real server over HTTP."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2 as httpx
import pytest
from mcp.client.streamable_http import streamable_http_client
from playwright.async_api import Browser, Page, expect
from tests.client.hosts import Host, host
from tests.pages.test_browser import OPENS, asked_link, running, tab
from tests.pages.test_looks import check
from tests.server.peers import ROOT, free_port, text_of

from handraise.client import consent_client
from handraise.ledger import Ledger
from handraise.questions import UrlQuestion
from handraise.revisions import Revision
from handraise.vault.keys import new_key
from local_provider import PASSWORD

pytestmark = [pytest.mark.stranger, pytest.mark.slow]

MCP_TOKEN = "mcp-token-of-ann"


@pytest.fixture(scope="module")
async def issuer(anyio_backend: str) -> AsyncIterator[str]:
    """The provider, as a process of its own."""
    port = free_port()
    command = [sys.executable, str(ROOT / "examples/local_provider.py"), str(port)]
    async with running(command, {**os.environ, "PYTHONWARNINGS": "ignore"}, port):
        yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def place(issuer: str, folder: Path) -> AsyncIterator[tuple[Any, str]]:
    """The server, known to the provider: a target for a client, and its address."""
    port = free_port()
    public = f"http://127.0.0.1:{port}"
    connects = await register(issuer, f"{public}/handraise/back/place", "openid profile")
    signs_in = await register(issuer, f"{public}/handraise/signed-in", "openid")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HANDRAISE_VAULT_KEY": new_key().hex(),
        "PLACE_ID": connects["client_id"],
        "PLACE_SECRET": connects["client_secret"],
        "PAGES_ID": signs_in["client_id"],
        "PAGES_SECRET": signs_in["client_secret"],
    }
    command = [sys.executable, "-m", "tests.pages.oauth.place", str(folder), str(port), issuer]
    async with (
        running(command, environment, port),
        httpx.AsyncClient(headers={"authorization": f"Bearer {MCP_TOKEN}"}, timeout=60) as web,
    ):
        yield streamable_http_client(f"{public}/mcp", http_client=web), public


async def register(issuer: str, redirect_uri: str, scope: str) -> dict[str, str]:
    """Become known to the provider."""
    client = {
        "client_name": "place",
        "client_uri": "https://place.example",
        "redirect_uris": [redirect_uri],
        "scope": scope,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    }
    async with httpx.AsyncClient() as web:
        known: dict[str, str] = (await web.post(f"{issuer}/oauth/register", json=client)).json()
    return known


async def sign_in(page: Page, user: str) -> None:
    """At the provider, where the page sent them."""
    await page.locator("input[name=login]").fill(user)
    await page.locator("button[type=submit]").first.click()
    await page.locator("input[name=password]").fill(PASSWORD)
    await page.locator("button[type=submit]").first.click()


async def answer(page: Page, value: str) -> None:
    """At the provider's own question."""
    await page.locator(f"button[name=answer][value={value}]").click()


async def signed_in(page: Page, link: str, user: str = "ann") -> None:
    """The connect page, for somebody who signs in on the way."""
    await page.goto(link)
    await sign_in(page, user)
    asks, came_back = page.locator("button[name=answer][value=accept]"), page.locator("header.top")
    await asks.or_(came_back).first.wait_for()
    if await asks.count():  # it remembers what was agreed to before
        await answer(page, "accept")


@pytest.mark.shows("L7", "L8", "L9", "S5")
async def test_an_account_is_connected_by_its_person_and_its_tokens_appear_nowhere(
    browser: Browser, issuer: str, tmp_path: Path
) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    async with (
        aclosing(Ledger.at(folder / "ledger.db", keeping="all")) as ledger,
        place(issuer, folder) as (target, public),
        host(target, Revision.NOVEMBER_2025, OPENS, ledger=ledger) as here,
        anyio.create_task_group() as calls,
        tab(browser) as page,
        tab(browser) as others,
    ):
        results: list[Any] = []

        async def call() -> None:
            results.append(await here.client.call_tool("create_issue", {"title": "Paint"}))

        calls.start_soon(call)
        link = await asked_link(here)
        await signed_in(others, link, "bob")
        await expect(others.locator("h1")).to_have_text("This page is for somebody else")
        await signed_in(page, link)
        await expect(page.locator("h1")).to_have_text("Connect your Issue Place account")
        for named in ("create_issue", "Read your name", "Nobody has verified this name."):
            await expect(page.locator("main")).to_contain_text(named)
        await page.get_by_role("link", name="Go on to").click()
        await answer(page, "accept")
        await expect(page.locator("h1")).to_have_text("Done")
        with anyio.fail_after(60):
            while not results:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert text_of(results[0]) == "Created Paint."
        again = await here.client.call_tool("create_issue", {"title": "Again"})
        assert text_of(again) == "Created Again.", "the vault has it"
        assert len(here.gate.seen) <= 3
        cookies = "; ".join(f"{one.get('name')}={one.get('value')}" for one in await page.context.cookies())
        async with httpx.AsyncClient(headers={"cookie": cookies}) as web:
            assert (await web.post(f"{public}/mcp", json={})).status_code == 401, "pages let nobody in there"
        assert_nowhere(folder)
    assert_nowhere(folder)


def assert_nowhere(folder: Path) -> None:
    """Not on the wire, in the log, in the store, in a ledger, or among the arguments of a process."""
    tokens = {line for line in folder.with_suffix(".tokens").read_text().splitlines() if line}
    assert len(tokens) >= 2
    written = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert b"Created" in written["wire"]
    assert b"created with Secret(" in written["log"]
    assert written["ledger.db"]
    assert written["server-ledger.db"]
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                written[f"arguments of {entry.name}"] = (entry / "cmdline").read_bytes()
            except OSError:
                continue
    for name, content in written.items():
        for token in tokens:
            assert token.encode() not in content, name


async def links(here: Host, count: int) -> list[str]:
    """The links of questions that wait, when there are so many."""
    with anyio.fail_after(60):
        while True:
            questions = [one.question for one in here.gate.seen if hasattr(one, "question")]
            found = {one.url: None for one in questions if isinstance(one, UrlQuestion)}
            if len(found) == count:
                return list(found)
            await anyio.sleep(0.01)


@pytest.mark.shows("L8")
async def test_two_flows_at_once_one_refused_at_the_provider_and_one_finished(
    browser: Browser, issuer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        consent_client, "PATIENCE", 60
    )  # the script says yes to two links, not that one is done
    folder = tmp_path / "server"
    folder.mkdir()
    async with (
        place(issuer, folder) as (target, _),
        host(target, Revision.JULY_2026, [*OPENS[:1] * 2, *OPENS[1:]]) as here,
        tab(browser) as page,
    ):
        results: dict[str, str] = {}

        async def call(title: str, timeout: float) -> None:
            result = await here.client.call_tool("create_issue", {"title": title, "timeout": timeout})
            results[title] = text_of(result)

        async with anyio.create_task_group() as calls:
            calls.start_soon(call, "Roof", 60)
            (roof,) = await links(here, 1)
            calls.start_soon(call, "Door", 60)
            _, door = await links(here, 2)
            await signed_in(page, roof)
            second = await page.context.new_page()
            await second.goto(door)
            await page.get_by_role("link", name="Go on to").click()
            await second.get_by_role("link", name="Go on to").click()
            await answer(page, "deny")
            await expect(page.locator("h1")).to_have_text("Declined")
            await answer(second, "accept")
            await expect(second.locator("h1")).to_have_text("Done")
        assert results == {"Roof": "The person declined.", "Door": "Created Door."}


@pytest.mark.shows("L9")
@pytest.mark.parametrize("look", ["light", "dark phone"])
async def test_the_connect_page_is_accessible(browser: Browser, look: str) -> None:
    from tests.pages import test_looks as looks
    from tests.pages.house import ME

    from handraise.pages.oauth import Account, ConnectPage

    logo = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4"/></svg>'
    scopes = {"repo": "Read and write your repositories", "read:user": "Read your profile"}
    github = Account("GitHub", "Iv1.8a61", "https://github.com/login/oauth", scopes, logo=logo)
    async with looks.open_house() as house, looks.tab(browser, look, bypass_csp=True) as page:
        visit = house.ask(ConnectPage(github), ME)
        await page.goto(house.site.link(visit))
        await expect(page.get_by_role("link", name="Go on to github.com")).to_be_visible()
        assert urlsplit(page.url).path == f"/{visit.id}"
        await check(page, f"{look}-connect")
