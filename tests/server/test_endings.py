"""An error of ours that leaves a body by the way of its tasks ends the call as any other does."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import anyio
import mcp_types as types
import pytest
from fastmcp import FastMCP
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.server.peers import DECLINE, Person, accept, connect, text_of

from handraise import Expired, Handraise, UrlQuestion, ask
from handraise.errors import CATEGORY
from handraise.revisions import Revision
from handraise.wire import MISSING_CAPABILITY, URL_REQUIRED


async def grouped_by_asyncio(question: Any) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(question())


async def grouped_by_anyio(question: Any) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(question)


async def gathered(question: Any) -> None:
    await asyncio.gather(question(), question())


async def all_at_once(_question: Any) -> None:
    await ask.all(one=ask.text("Who?", timeout=0.05), other=ask.text("Where?", timeout=0.05))


WAYS = [grouped_by_asyncio, grouped_by_anyio, gathered, all_at_once]


def make_grouped(make: Any, way: Any) -> Any:
    """A server whose tools ask in tasks of their own."""
    server: MCPServer = Handraise().install(make("grouped"))

    @server.tool()
    async def wait() -> None:
        async def question() -> None:
            await ask.text("Go?", timeout=0.05)

        await way(question)

    @server.tool()
    async def stop() -> None:
        async def question() -> None:
            (await ask.confirm("Go?")).or_stop("Not done.")

        await way(question)

    @server.tool()
    async def crash() -> None:
        async def question() -> None:
            with contextlib.suppress(Expired):
                await ask.text("Go?", timeout=0.05)

        await way(question)
        raise ValueError("the author's own")

    return getattr(server, "_mcp_server", server)


async def nobody() -> types.ElicitResult:
    await anyio.sleep(0.2)
    return accept(answer="too late")


NOBODY = [lambda _params: nobody()] * 4


@pytest.mark.shows("O2", "N5")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [MCPServer, FastMCP])
async def test_no_answer_in_a_task_of_the_bodys_says_what_happened(
    make: Any, way: Any, revision: Revision
) -> None:
    server = make_grouped(make, way)
    async with connect(server, revision, Person(*NOBODY)) as client:
        result = await client.call_tool("wait")
        assert text_of(result).startswith("The person did not answer in time.")
        assert (result.meta or {})[CATEGORY] == "expired"
    async with connect(server, revision, None) as client:
        if revision.modern:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("wait")
            assert refused.value.error.code == MISSING_CAPABILITY
        else:
            assert text_of(await client.call_tool("wait")).startswith("This needs an answer from the person")


@pytest.mark.parametrize("way", [grouped_by_asyncio, grouped_by_anyio])
@pytest.mark.parametrize("make", [MCPServer, FastMCP])
async def test_a_polite_end_in_a_task_of_the_bodys_is_polite(make: Any, way: Any, revision: Revision) -> None:
    async with connect(make_grouped(make, way), revision, Person(DECLINE)) as client:
        assert text_of(await client.call_tool("stop")) == "Not done."


@pytest.mark.parametrize("way", [grouped_by_asyncio, grouped_by_anyio])
@pytest.mark.parametrize("make", [MCPServer, FastMCP])
async def test_a_crash_after_no_answer_that_was_caught_is_a_crash(
    make: Any, way: Any, revision: Revision
) -> None:
    async with connect(make_grouped(make, way), revision, Person(*NOBODY)) as client:
        result = await client.call_tool("crash")
    assert result.is_error
    assert "did not answer" not in text_of(result)


async def unanswered(run: str) -> str:
    await ask.text("Go?", timeout=0.05)
    return run


async def required(run: str) -> str:
    await ask.require(UrlQuestion("Connect", "https://mcp.example.com/connect"))
    return run


async def in_group(run: str) -> str:
    """A body whose question ends in a task group: `run` says which."""
    async with asyncio.TaskGroup() as group:
        group.create_task({"unanswered": unanswered, "required": required}[run](run))
    return run


async def crashes_too(run: str) -> str:
    """A bug of the author's own beside it."""

    async def crash() -> None:
        try:
            await unanswered(run)
        finally:
            raise KeyError("the author's own")

    async with asyncio.TaskGroup() as group:
        group.create_task(crash())
        group.create_task(unanswered(run))
    return run


async def makes_its_own(run: str) -> str:
    """An error that the author made of a group."""
    try:
        return await in_group(run)
    except ExceptionGroup as group:
        raise ValueError("the author's own") from group


BODIES = {body.__name__.replace("_", "-"): body for body in (in_group, crashes_too, makes_its_own)}


def on_lowlevel() -> Any:
    async def call_tool(_ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = await BODIES[params.name](**(params.arguments or {}))
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    async def get_prompt(_ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        text = await BODIES[params.name](**(params.arguments or {}))
        said = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(messages=[said])

    async def read_resource(_ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        name, _, run = str(params.uri).partition("://")
        text = await BODIES[name](run)
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=str(params.uri), text=text)])

    async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(name=name, input_schema={"type": "object"}) for name in BODIES]
        )

    return Handraise().install(
        Server(
            "low",
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_get_prompt=get_prompt,
            on_read_resource=read_resource,
        )
    )


def on_framework(make: Any) -> Any:
    server = Handraise().install(make("grouped"))
    for name, body in BODIES.items():
        server.tool(name=name)(body)
        server.prompt(name=name)(body)
        server.resource(f"{name}://{{run}}")(body)
    return getattr(server, "_mcp_server", server)


SERVERS: dict[str, Any] = {
    "mcpserver": lambda: on_framework(MCPServer),
    "lowlevel": on_lowlevel,
    "fastmcp": lambda: on_framework(FastMCP),
}
METHODS: dict[str, Any] = {
    "tool": lambda client, name, run: client.call_tool(name, {"run": run}),
    "prompt": lambda client, name, run: client.get_prompt(name, {"run": run}),
    "resource": lambda client, name, run: client.read_resource(f"{name}://{run}"),
}
KINDS = pytest.mark.parametrize("kind", SERVERS)
TARGETS = pytest.mark.parametrize("method", METHODS)


@pytest.mark.shows("O2", "N5")
@KINDS
@TARGETS
async def test_what_leaves_a_body_as_a_group_says_what_happened(
    kind: str, method: str, revision: Revision
) -> None:
    async with connect(SERVERS[kind](), revision, Person(*NOBODY)) as client:
        if method == "tool":
            result = await client.call_tool("in-group", {"run": "unanswered"})
            assert text_of(result).startswith("The person did not answer in time.")
        else:
            with pytest.raises(MCPError) as refused:
                await METHODS[method](client, "in-group", "unanswered")
            assert refused.value.error.message.startswith("The person did not answer in time.")
            assert refused.value.error.data == {"reason": "expired"}
    if revision.modern:
        async with connect(SERVERS[kind](), revision, None) as client:
            with pytest.raises(MCPError) as refused:
                await METHODS[method](client, "in-group", "unanswered")
            assert refused.value.error.code == MISSING_CAPABILITY


@pytest.mark.shows("O2")
@KINDS
@TARGETS
async def test_links_that_have_to_be_opened_first_are_listed_though_they_leave_as_a_group(
    kind: str, method: str
) -> None:
    async with connect(SERVERS[kind](), Revision.NOVEMBER_2025, Person()) as client:
        with pytest.raises(MCPError) as refused:
            await METHODS[method](client, "in-group", "required")
    assert refused.value.error.code == URL_REQUIRED
    (listed,) = refused.value.error.data["elicitations"]
    assert listed["url"] == "https://mcp.example.com/connect"


@pytest.mark.parametrize(
    ("kind", "method"),
    [(kind, method) for kind in SERVERS for method in METHODS if method != "tool" or kind == "lowlevel"],
)
@pytest.mark.parametrize("name", ["crashes-too", "makes-its-own"])
async def test_an_error_of_the_authors_own_stays_theirs(
    kind: str, method: str, name: str, revision: Revision
) -> None:
    """Of a tool the frameworks keep nothing but a result, which does not say what crashed."""
    async with connect(SERVERS[kind](), revision, Person(*NOBODY)) as client:
        try:
            said = text_of(await METHODS[method](client, name, "unanswered"))
        except MCPError as error:
            said = error.error.message
    assert "did not answer" not in said
