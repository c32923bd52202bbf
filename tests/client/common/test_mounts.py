"""FastMCP's `mount()`: a tool asks, whichever of the two servers has Handraise installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.client.common.servers import KINDS, REVISIONS, URL

from handraise import Accepted, Cancelled, Declined, Handraise, UrlQuestion, ask
from handraise.guards import guard
from handraise.revisions import Revision
from handraise.sdk.client import fault_of, protocol_error
from handraise.sdk.releases import generation
from handraise.testing import ScriptedPerson, connect

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # FastMCP 2 warns on import
    pytest.mark.release,
    pytest.mark.skipif("fastmcp" not in KINDS, reason="about FastMCP"),
]
INSTALLED = ["parent", "child", "both"]


def mounted(installed: str, *tools: Callable[..., Any]) -> Any:
    """A server that mounts another one, which has the tools."""
    from fastmcp import FastMCP

    parent, child = FastMCP("parent"), FastMCP("child")
    for tool in tools:
        child.tool()(tool)
    child.prompt()(order)
    child.resource("order://{article}")(order)
    if installed != "child":
        Handraise().install(parent)
    if installed != "parent":
        Handraise().install(child)
    parent.mount(child, "in")
    return parent


async def order(article: str) -> str:
    """Ask twice."""
    EFFECTS.append("before")
    size = (await ask.text(f"Which size of {article}?")).or_stop()
    EFFECTS.append("between")
    return f"{size} {(await ask.confirm('Really?')).action}"


EFFECTS: list[str] = []


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content)


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("installed", INSTALLED)
async def test_a_tool_of_a_mounted_server_asks_and_runs_once(installed: str, revision: Revision) -> None:
    EFFECTS.clear()
    person = ScriptedPerson(Accepted("large"), Accepted(True))
    async with connect(mounted(installed, order), revision, person) as client:
        assert text_of(await client.call_tool("in_order", {"article": "tea"})) == "large accept"
    assert person.messages == ["Which size of tea?", "Really?"]
    assert EFFECTS == ["before", "between"]


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("installed", INSTALLED)
async def test_a_decline_and_a_cancel_end_a_mounted_tool_with_their_sentence(
    installed: str, revision: Revision
) -> None:
    person = ScriptedPerson(Declined(), Cancelled())
    async with connect(mounted(installed, order), revision, person) as client:
        assert "The person declined." in text_of(await client.call_tool("in_order", {"article": "tea"}))
        assert "dismissed" in text_of(await client.call_tool("in_order", {"article": "tea"}))


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("installed", INSTALLED)
async def test_prompts_and_resources_of_a_mounted_server_ask(installed: str, revision: Revision) -> None:
    person = ScriptedPerson(*[Accepted("small"), Accepted(True)] * 2)
    async with connect(mounted(installed), revision, person) as client:
        prompt = await client.get_prompt("in_order", {"article": "tea"})
        assert prompt.messages[0].content.text == "small accept"
        read = await client.read_resource("order://in/tea")
        assert read.contents[0].text == "small accept"


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("installed", INSTALLED)
async def test_a_decline_ends_prompts_and_resources_of_a_mounted_server_with_their_sentence(
    installed: str, revision: Revision
) -> None:
    async with connect(mounted(installed), revision, ScriptedPerson(Declined(), Declined())) as client:
        with pytest.raises(protocol_error(), match="The person declined"):
            await client.get_prompt("in_order", {"article": "tea"})
        with pytest.raises(protocol_error(), match="The person declined"):
            await client.read_resource("order://in/tea")


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("installed", INSTALLED)
async def test_a_mounted_tool_says_so_where_nobody_can_be_asked(installed: str, revision: Revision) -> None:
    async with connect(mounted(installed, order), revision) as client:
        if revision.modern:
            with pytest.raises(protocol_error()) as caught:
                await client.call_tool("in_order", {"article": "tea"})
            assert fault_of(caught.value).code == -32021
        else:
            assert "their client cannot" in text_of(await client.call_tool("in_order", {"article": "tea"}))


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("installed", INSTALLED)
async def test_a_guarded_tool_of_a_mounted_server_runs_only_after_a_yes(
    installed: str, revision: Revision
) -> None:
    gone: list[str] = []

    @guard("Delete {article}?")
    async def delete(article: str) -> str:
        gone.append(article)
        return "deleted"

    person = ScriptedPerson(Accepted(False), Accepted(True))
    async with connect(mounted(installed, delete), revision, person) as client:
        await client.call_tool("in_delete", {"article": "tea"})
        assert gone == []
        assert text_of(await client.call_tool("in_delete", {"article": "tea"})) == "deleted"
    assert gone == ["tea"]


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("installed", INSTALLED)
async def test_a_plain_function_of_a_mounted_server_asks(installed: str, revision: Revision) -> None:
    def plain() -> str:
        return ask.sync(ask.text("Which?")).or_stop()

    async with connect(mounted(installed, plain), revision, ScriptedPerson(Accepted("tea"))) as client:
        assert text_of(await client.call_tool("in_plain")) == "tea"


@pytest.mark.parametrize("installed", INSTALLED)
async def test_a_link_that_a_mounted_tool_requires_first_is_told(installed: str) -> None:
    async def members() -> str:
        await ask.require(UrlQuestion("Join first.", URL, "flow"))
        return "members"

    server = mounted(installed, members)
    async with connect(server, Revision.NOVEMBER_2025, ScriptedPerson()) as client:
        if (
            installed == "child" and generation() == 2
        ):  # FastMCP 4 makes a result of every error of a mounted tool
            told = await client.call_tool("in_members")
            assert "needs something from the person first" in text_of(told)
            return
        with pytest.raises(protocol_error()) as caught:
            await client.call_tool("in_members")
        assert fault_of(caught.value).code == -32042
