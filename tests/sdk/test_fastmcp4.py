"""The adapter for FastMCP 4: what its framework makes of our errors, contexts and injected parameters."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from fastmcp import Context as FastContext
from fastmcp import FastMCP
from fastmcp.dependencies import Depends
from fastmcp.prompts.base import Message, PromptResult
from fastmcp.resources.base import ResourceContent, ResourceResult
from fastmcp.tools.base import ToolResult
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import SERVER_INFO_META_KEY
from tests.server.peers import DECLINE, Person, accept, connect, text_of

from handraise import Handraise, UrlQuestion, ask
from handraise.errors import HandraiseError
from handraise.revisions import Revision


def target_of(server: Any) -> Any:
    """What the SDK's client connects to."""
    return getattr(server, "_mcp_server", server)


async def stop() -> str:
    return (await ask.text("Go on?")).or_stop()


@pytest.mark.shows("N5")
async def test_a_fastmcp_server_that_tells_no_details_of_errors_tells_ours(revision: Revision) -> None:
    server: FastMCP[Any] = Handraise().install(FastMCP("fast", mask_error_details=True))
    server.tool(stop)
    async with connect(target_of(server), revision, Person(DECLINE)) as client:
        result = await client.call_tool("stop")
        assert result.is_error
        assert text_of(result) == "The person declined."
    async with connect(target_of(server), revision) as client:
        if revision.modern:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("stop")
            assert refused.value.code == -32021
        else:
            assert "their client cannot" in text_of(await client.call_tool("stop"))


@pytest.mark.shows("L3", "N5", "C7")
async def test_what_ends_a_prompt_of_fastmcp_reaches_the_client_as_it_is(revision: Revision) -> None:
    server: FastMCP[Any] = Handraise(timeout=0.1).install(FastMCP("fast"))

    @server.prompt
    async def files() -> str:
        await ask.require(UrlQuestion("Permission, please.", "https://mcp.example.com/connect", "flow"))
        return "files"

    @server.prompt
    async def declined() -> str:
        return (await ask.text("Whom?")).or_stop()

    @server.prompt
    async def broken() -> str:
        try:
            return await declined()
        except HandraiseError as error:
            raise ValueError("the author's own") from error

    async def ended(name: str, client: Client) -> types.ErrorData:
        with pytest.raises(MCPError) as end:
            await client.get_prompt(name)
        return end.value.error

    async with connect(target_of(server), revision, Person(DECLINE, DECLINE)) as client:
        end = await ended("declined", client)
        assert (end.code, end.message) == (-32603, "The person declined.")
        assert end.data == {"reason": "stopped"}
        assert "the author's own" in (await ended("broken", client)).message
    async with connect(target_of(server), revision, Person(), modes="url") as client:
        if revision is Revision.NOVEMBER_2025:
            end = await ended("files", client)
            assert end.code == -32042
            assert [link["elicitationId"] for link in end.data["elicitations"]] == ["flow"]
        end = await ended("declined", client)
        if revision.url_mode:  # on 2025-06-18 everybody who can be asked can be asked by forms
            assert end.code == (-32021 if revision.modern else -32603)
            assert end.data is not None


async def test_fastmcp_context_prompts_and_resources(revision: Revision) -> None:
    server: FastMCP[Any] = Handraise().install(FastMCP("fast"))

    @server.tool
    async def greet(ctx: FastContext) -> str:
        first = ctx.request_id
        answer = await ask.text("Name?")
        await ctx.report_progress(1, 1)
        return f"{answer.or_stop()} {first == ctx.request_id}"

    @server.prompt
    async def hello() -> str:
        return f"Greet {(await ask.text('Whom?')).or_stop()}"

    @server.resource("note://{name}")
    async def note(name: str) -> str:
        return f"{name} {(await ask.text('Version?')).or_stop()}"

    person = Person(accept(answer="Bo"), accept(answer="Ada"), accept(answer="2"))
    async with connect(target_of(server), revision, person) as client:
        assert text_of(await client.call_tool("greet")) == f"Bo {revision.legacy}"
        prompt = await client.get_prompt("hello")
        assert prompt.messages[0].content.text == "Greet Ada"  # type: ignore[union-attr]
        read = await client.read_resource("note://x")
        assert read.contents[0].text == "x 2"  # type: ignore[union-attr]


async def test_injected_parameters_of_fastmcp_stay_what_they_were(revision: Revision) -> None:
    server: FastMCP[Any] = Handraise().install(FastMCP("injected"))
    made: list[int] = []

    def connection() -> str:
        made.append(1)
        return f"connection {len(made)}"

    @server.tool
    async def work(db: str = Depends(connection)) -> str:
        return f"{(await ask.text('Go?')).or_stop()} {db}"

    async with connect(server._mcp_server, revision, Person(accept(answer="yes"))) as client:
        assert text_of(await client.call_tool("work")) == "yes connection 1"
    assert made == [1]


@pytest.mark.parametrize("meta", [{"example.com/a": 1}, None], ids=["with meta", "without"])
async def test_what_a_mounted_component_says_beside_its_result_reaches_the_client(
    revision: Revision, meta: dict[str, Any] | None
) -> None:
    """Only the server that is mounted has Handraise, and on 2026-07-28 a retry brings the result."""
    server: FastMCP[Any] = FastMCP("outside")
    child: FastMCP[Any] = Handraise().install(FastMCP("inside"))

    @child.tool
    async def order() -> ToolResult:
        size = (await ask.text("Size?")).or_stop()
        return ToolResult(f"tea, {size}", {"size": size}, meta)

    @child.prompt
    async def greet() -> PromptResult:
        return PromptResult([Message((await ask.text("Whom?")).or_stop(), "assistant")], "A greeting", meta)

    @child.resource("note://{name}")
    async def note(name: str) -> ResourceResult:
        text = (await ask.text("Text?")).or_stop()
        return ResourceResult(
            [ResourceContent(text, "text/x-note", meta), ResourceContent(b"\x00\xff", "image/png")], meta
        )

    server.mount(child, "in")
    person = Person(*(accept(answer=each) for each in ("large", "Ada", "Buy tea.")), DECLINE)
    async with connect(target_of(server), revision, person) as client:
        called = await client.call_tool("in_order")
        assert (text_of(called), called.structured_content) == ("tea, large", {"size": "large"})
        prompt = await client.get_prompt("in_greet")
        assert (prompt.description, prompt.messages[0].role) == ("A greeting", "assistant")
        assert prompt.messages[0].content.text == "Ada"  # type: ignore[union-attr]
        read = await client.read_resource("note://in/x")
        text, blob = read.contents
        assert (text.mime_type, text.text) == ("text/x-note", "Buy tea.")  # type: ignore[union-attr]
        assert (blob.mime_type, blob.blob) == ("image/png", "AP8=")  # type: ignore[union-attr]
        assert text.meta == meta
        for result in (called, prompt, read):
            said = {key: value for key, value in (result.meta or {}).items() if "modelcontext" not in key}
            assert said == (meta or {})
        stopped = await client.call_tool("in_order")
        assert text_of(stopped) == "The person declined."
        if revision.modern:
            for result in (called, prompt, read, stopped):
                assert (result.meta or {})[SERVER_INFO_META_KEY]["name"] == "outside"
