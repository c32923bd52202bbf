"""A page, or what is required first, that is sent early: its link is known once it is on its way."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.server.filling import ACCEPT, SECRET, AtTheBrowser
from tests.server.peers import DECLINE, Person, connect, text_of
from tests.server.rounds import by_hand
from tests.server.wired import wired
from tests.waiting import until

from handraise import Accepted, Handraise, NotSupported, UrlQuestion, Withdrawn, ask, complete
from handraise.pages import SecretField, SecretPage
from handraise.pages.secret_page import ONE
from handraise.revisions import Revision
from handraise.vault import Secret

LINK = "https://mcp.example.com/connect"
PAGE: SecretPage[Secret] = SecretPage("Token", (SecretField(ONE, "Token"),), service="github")
with_url = pytest.mark.parametrize("revision", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)
LEGACY = pytest.mark.parametrize("revision", [Revision.JUNE_2025, Revision.NOVEMBER_2025], ids=str)


class Early:
    """A server whose tools send what they need early, and remember what they were told."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.asked_by: Any = None
        self.server = Handraise().install(MCPServer("early", log_level="CRITICAL"))
        for tool in (self.page, self.page_among_others, self.required, self.required_page, self.forgotten):
            self.server.tool()(tool)

    async def page(self) -> str:
        token = ask.secret("Token", service="github", timeout=20).prepare()
        self.told.append(dict(token.request))
        self.told.append(dict(await token.sent()))
        answer = await token
        self.told.append(answer)
        return answer.action

    async def page_among_others(self) -> str:
        both = ask.all(name=ask.text("Name?"), token=ask.secret("Token", timeout=20)).prepare()
        self.told.append(await both.sent())
        answers = await both
        return " ".join(answer.action for answer in answers.values())

    async def required(self) -> str:
        self.asked_by = ask.person()
        needed = ask.require(UrlQuestion("Connect first.", LINK, "chosen"), timeout=20).prepare()
        self.told.append(dict(await needed.sent()))
        await needed
        return "connected"

    async def required_page(self) -> str:
        needed = ask.require(PAGE, timeout=20).prepare()
        self.told.append(dict(await needed.sent()))
        await needed
        return "connected"

    async def forgotten(self) -> str:
        ask.require(UrlQuestion("Connect first.", LINK, "forgotten")).prepare()
        await anyio.lowlevel.checkpoint()
        return "returned"


@with_url
async def test_a_page_that_is_sent_early_tells_its_link_once_it_has_one(revision: Revision) -> None:
    early, person = Early(), AtTheBrowser()
    async with connect(early.server, revision, person) as client:
        assert text_of(await client.call_tool("page")) == "accept"
        assert text_of(await client.call_tool("page")) == "accept"  # from the vault, without a question
        await person.done()
    before, sent, answer, *from_the_vault = early.told
    assert before == {}
    assert [sent["params"]["url"]] == person.links
    assert answer == Accepted(Secret(SECRET))
    assert from_the_vault == [{}, {}, answer]


@with_url
async def test_a_page_among_questions_that_are_sent_early_does_too(revision: Revision) -> None:
    early, browser = Early(), AtTheBrowser()

    async def person(context: Any, params: Any) -> Any:
        return DECLINE if params.mode == "form" else await browser(context, params)

    async with connect(early.server, revision, person) as client:
        assert text_of(await client.call_tool("page_among_others")) == "decline accept"
        await browser.done()
    [sent] = early.told
    assert sent["name"]["params"]["message"] == "Name?"
    assert [sent["token"]["params"]["url"]] == browser.links


@pytest.mark.parametrize("tool", ["page", "page_among_others", "required", "required_page"])
async def test_what_cannot_be_asked_early_is_told_where_it_is_awaited(tool: str, revision: Revision) -> None:
    """Nobody has to wait for a link that never comes."""
    early = Early()
    async with connect(early.server, revision, Person(DECLINE), modes="form") as client:
        with anyio.fail_after(5):
            if revision.modern:
                with pytest.raises(MCPError) as refused:
                    await client.call_tool(tool)
                assert refused.value.code == -32021
            else:
                assert text_of(await client.call_tool(tool)) == NotSupported.public


async def test_what_is_required_first_may_be_sent_early_in_a_round() -> None:
    early = Early()

    async def finish(_params: Any) -> Any:
        await complete("chosen", person=early.asked_by)
        return ACCEPT

    async with connect(early.server, Revision.JULY_2026, Person(finish)) as client:
        assert text_of(await client.call_tool("required")) == "connected"
        assert text_of(await client.call_tool("required")) == "connected"  # nothing is missing any more
    first, again = early.told
    [asked] = first.values()
    assert asked["params"] == {"mode": "url", "message": "Connect first.", "url": LINK}
    assert again == {}


async def test_what_is_required_first_and_sent_early_ends_the_call_with_32042_where_it_is_awaited() -> None:
    early = Early()
    async with connect(early.server, Revision.NOVEMBER_2025, Person()) as client:
        with pytest.raises(MCPError) as needed:
            await client.call_tool("required")
        assert needed.value.code == -32042
        assert early.told == [needed.value.data]
        assert early.told[0]["elicitations"][0]["elicitationId"] == "chosen"
        await complete("chosen", person=early.asked_by)
        assert text_of(await client.call_tool("required")) == "connected"


@with_url
async def test_a_page_may_be_required_early(revision: Revision) -> None:
    early, person = Early(), AtTheBrowser()
    async with connect(early.server, revision, person) as client:
        if revision.legacy:
            with pytest.raises(MCPError) as needed:
                await client.call_tool("required_page")
            assert early.told == [needed.value.data]
            [listed] = needed.value.data["elicitations"]
            await person(None, _Params(listed))
            await person.done()
        assert text_of(await client.call_tool("required_page")) == "connected"
        await person.done()
    assert len(person.links) == 1


class _Params:
    def __init__(self, listed: dict[str, str]) -> None:
        self.url, self.message = listed["url"], listed["message"]


async def test_what_is_required_early_and_never_awaited_ends_with_its_call(revision: Revision) -> None:
    early = Early()
    async with connect(early.server, revision, Person()) as client:
        assert text_of(await client.call_tool("forgotten")) == "returned"


async def test_what_is_required_and_never_awaited_is_reported() -> None:
    with pytest.warns(RuntimeWarning, match="never asked"):
        ask.require(LINK)


@dataclass(frozen=True)
class Slow(SecretPage[Secret]):
    """A page whose secret has to be looked at for long before it is used."""

    looks: asyncio.Event = field(default_factory=asyncio.Event)

    async def recall(self, contents: Mapping[str, Any]) -> Secret | None:
        self.looks.set()
        await anyio.sleep_forever()
        return None


@pytest.mark.shows("O7")
@LEGACY
@pytest.mark.parametrize("tool", ["opens", "requires", "waits_for_the_link"])
async def test_a_client_that_leaves_while_a_page_is_being_opened_withdraws_it(
    revision: Revision, tool: str
) -> None:
    page = Slow("Token", (SecretField(ONE, "Token"),), service="github")
    early, person, seen = Early(), AtTheBrowser(), []

    async def noted(asking: Any) -> str:
        try:
            await asking
        except Withdrawn:
            seen.append("withdrawn")
            raise
        return "unreachable"

    @early.server.tool()
    async def opens() -> str:
        return await noted(ask.page(page))

    @early.server.tool()
    async def requires() -> str:
        return await noted(ask.require(page))

    @early.server.tool()
    async def waits_for_the_link() -> str:
        return await noted(ask.page(page).prepare().sent())

    async with connect(early.server, Revision.NOVEMBER_2025, person) as client:
        assert text_of(await client.call_tool("page")) == "accept"  # and now the vault has it
        await person.done()
    async with wired(early.server, revision) as wire:
        await wire.call("call", tool)
        with anyio.fail_after(10):
            await page.looks.wait()
        await wire.send(method="notifications/cancelled", params={"requestId": "call"})
        await until(lambda: seen == ["withdrawn"])
        await wire.require_open()


async def test_the_links_of_a_round_by_hand_are_those_that_were_told() -> None:
    early = Early()
    async with by_hand(early.server) as rounds:
        first = await rounds.call("required", {})
        assert first["inputRequests"] == early.told[0]
