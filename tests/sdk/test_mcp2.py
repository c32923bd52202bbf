"""The adapter for mcp 2.x: its middleware, the functions behind requests, and who is behind them."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from unittest import mock

import anyio
import anyio.lowlevel
import mcp_types as types
import pytest
from fastmcp import FastMCP
from mcp import Client
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.request_state import RequestStateBoundary
from mcp.shared.exceptions import MCPError
from tests.server.peers import Person, accept, connect, text_of

from handraise import Handraise, ask
from handraise.revisions import Revision
from handraise.sdk.adapter import stand_in_for
from handraise.sdk.choose import adapter_for
from handraise.sdk.mcp2 import AskingMiddleware, Mcp2Request, TokenBypass

MINE: ContextVar[str] = ContextVar("mine", default="nothing")


class Office:
    """A server with a tool that asks and one that does not, and the author's middleware around both."""

    def __init__(self, middleware: Any) -> None:
        self.did: list[str] = []
        self.server = Handraise().install(MCPServer("office", log_level="CRITICAL"))
        self.server._lowlevel_server.middleware.insert(0, middleware)
        for tool in (self.asks, self.works):
            self.server.tool()(tool)

    async def asks(self) -> str:
        self.did.append("asks")
        MINE.set("the body's")
        return (await ask.text("Go?")).or_stop()

    async def works(self) -> str:
        self.did.append("works")
        MINE.set("the body's")
        return "yes"


async def in_a_task(ctx: Any, call_next: Any) -> Any:
    return await asyncio.create_task(call_next(ctx))


async def in_a_group(ctx: Any, call_next: Any) -> Any:
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(call_next(ctx))
    return serving.result()


async def for_a_while(ctx: Any, call_next: Any) -> Any:
    return await asyncio.wait_for(call_next(ctx), 30)


@pytest.mark.parametrize("middleware", [in_a_task, in_a_group, for_a_while])
@pytest.mark.parametrize("tool", ["asks", "works"])
async def test_a_handler_may_run_in_a_task(revision: Revision, middleware: Any, tool: str) -> None:
    office = Office(middleware)
    async with connect(office.server, revision, Person(accept(answer="yes"))) as client:
        assert text_of(await client.call_tool(tool)) == "yes"
    assert office.did == [tool]


@pytest.mark.parametrize("tool", ["asks", "works"])
async def test_a_handler_that_is_not_awaited_does_nothing(revision: Revision, tool: str) -> None:
    async def refused(ctx: Any, call_next: Any) -> Any:
        serving = call_next(ctx)
        await anyio.lowlevel.checkpoint()  # whoever decides takes a moment
        if ctx.method == "tools/call":
            serving.close()
            raise MCPError(-32000, "not for you")
        return await serving

    office = Office(refused)
    async with connect(office.server, revision, Person()) as client:
        with pytest.raises(MCPError, match="not for you"):
            await client.call_tool(tool)
    assert office.did == []


@pytest.mark.parametrize("tool", ["asks", "works"])
async def test_what_a_body_has_set_is_seen_around_it(revision: Revision, tool: str) -> None:
    """Once it has ended: what a body that is suspended has set is its own."""
    seen: list[str] = []

    async def bound(ctx: Any, call_next: Any) -> Any:
        try:
            return await call_next(ctx)
        finally:
            if ctx.method == "tools/call":
                seen.append(MINE.get())

    office = Office(bound)
    async with connect(office.server, revision, Person(accept(answer="yes"))) as client:
        await client.call_tool(tool)
    parked = revision.modern and tool == "asks"
    assert seen[0] == ("nothing" if parked else "the body's")


async def pay() -> str:
    first = await ask.text("To whom?")
    second = await ask.confirm("Really?")
    return f"{first.or_stop()} {second.action}"


async def test_the_authors_own_middleware_sees_every_round_and_the_lifespan_stays() -> None:
    from contextlib import asynccontextmanager

    log: list[str] = []

    @asynccontextmanager
    async def lifespan(_server: Any) -> Any:
        log.append("up")
        yield {"db": 1}
        log.append("down")

    async def observe(ctx: Any, call_next: Any) -> Any:
        if ctx.method == "tools/call":
            log.append("round")
        return await call_next(ctx)

    server: MCPServer[Any] = Handraise().install(MCPServer("m", lifespan=lifespan))
    server.middleware.append(observe)
    server.add_tool(pay)
    async with connect(server, Revision.JULY_2026, Person(accept(answer="A"), accept(answer=True))) as client:
        await client.call_tool("pay")
    assert log == ["up", "round", "round", "round", "down"]


@pytest.mark.parametrize("when", ["before the start", "while it runs"])
async def test_the_authors_middleware_keeps_the_context_of_a_round_that_a_body_is_suspended_at(
    when: str,
) -> None:
    server = MCPServer("watched")
    Handraise().install(server)
    chain = server._lowlevel_server.middleware
    kept: list[bool] = []

    async def watching(ctx: Any, call_next: Any) -> Any:
        before = ctx.request_id, ctx.session
        result = await call_next(ctx)
        if ctx.method == "tools/call":
            kept.append((ctx.request_id, ctx.session) == before)
        return result

    @server.tool()
    async def greet() -> str:
        return f"Hello, {(await ask('Your name?', str)).or_stop()}"

    if when == "before the start":
        chain.insert(0, watching)
    async with connect(server, Revision.JULY_2026, Person(accept(answer="Ada"))) as client:
        if when == "while it runs":
            chain.insert(0, watching)
        assert text_of(await client.call_tool("greet")) == "Hello, Ada"
    assert kept == [True, True]


async def test_middleware_that_is_added_later_comes_between_the_boundary_and_us() -> None:
    server = MCPServer("chain")
    Handraise().install(server)
    chain = server._lowlevel_server.middleware
    seen: list[str] = []

    async def authors(ctx: Any, call_next: Any) -> Any:
        seen.append(ctx.method)
        return await call_next(ctx)

    for place in (Revision.JULY_2026, Revision.NOVEMBER_2025):
        async with connect(server, place, Person()):
            assert isinstance(chain[-1], AskingMiddleware)
            assert not any(isinstance(each, RequestStateBoundary) for each in chain)
    chain.append(authors)
    async with connect(server, Revision.JULY_2026, Person()) as client:
        assert [type(each) for each in chain[-3:]] == [TokenBypass, type(authors), AskingMiddleware]
        await client.list_tools()
    assert "tools/list" in seen


EITHER = pytest.mark.parametrize("make", [MCPServer, FastMCP], ids=["MCPServer", "FastMCP"])


def plain() -> str:
    return "plain"


@EITHER
async def test_what_a_tool_says_about_itself_is_known(make: Any) -> None:
    server = make("files")
    server.tool(name="read", annotations=types.ToolAnnotations(read_only_hint=True))(lambda: "x")
    server.tool(name="silent")(lambda: "x")
    tools = adapter_for(server)
    assert await tools.annotations("read") == {"readOnlyHint": True}
    assert await tools.annotations("silent") is None
    assert await tools.annotations("nowhere") is None


@EITHER
async def test_a_stand_in_takes_the_place_of_its_body_only(make: Any) -> None:
    server = make("files")

    def body() -> str:
        return "bare"

    async def instead() -> str:
        return "instead"

    server.tool()(body)
    server.tool()(plain)
    stand_in_for(body, instead)
    Handraise().install(server)
    async with connect(getattr(server, "_mcp_server", server), Revision.JULY_2026) as client:
        told = {name: text_of(await client.call_tool(name)) for name in ("body", "plain")}
    assert told == {"body": "instead", "plain": "plain"}


def described(name: str = "") -> str:
    return f"described {name}"


@EITHER
async def test_the_function_that_serves_a_request_is_found(make: Any) -> None:
    server = make("files")
    server.tool(name="read")(plain)
    server.prompt(name="greet")(plain)
    server.resource("shelf://books/all")(plain)
    server.resource("shelf://books/one/{name}")(described)
    tools = adapter_for(server)
    assert not tools.one_handler
    assert await tools.handler_of("tools/call", "read") is plain
    assert await tools.handler_of("tools/call", "nowhere") is None
    for method, target, body in (
        ("prompts/get", "greet", plain),
        ("resources/read", "shelf://books/all", plain),
        ("resources/read", "shelf://books/one/x", described),
    ):
        found: Any = await tools.handler_of(method, target)
        assert found.__qualname__ == body.__qualname__
    assert await tools.handler_of("prompts/get", "nowhere") is None
    assert await tools.handler_of("resources/read", "nowhere://x") is None


async def test_of_a_lowlevel_server_nothing_is_known_but_what_serves_them_all() -> None:
    async def call_tool(ctx: Any, params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[])

    server: Server[Any] = Server("low", on_call_tool=call_tool)
    tools = adapter_for(server)
    assert await tools.annotations("read") is None
    assert tools.one_handler
    assert await tools.handler_of("tools/call", "read") is call_tool
    assert await tools.handler_of("prompts/get", "read") is None


def test_what_can_have_no_stand_in_is_left_as_it_is() -> None:
    stand_in_for("text".upper, plain)


ISSUER = "https://id.example"


def principal(client: str, subject: str | None) -> tuple[Any, str]:
    claims = {"iss": ISSUER, **({} if subject is None else {"sub": subject})}
    token = AccessToken(token="t", client_id=client, scopes=[], subject=subject, claims=claims)
    before = auth_context_var.set(AuthenticatedUser(token))
    try:
        request = Mcp2Request(mock.Mock(request=None, params={}), mock.Mock())
        return request.person, request.principal
    finally:
        auth_context_var.reset(before)


@pytest.mark.shows("L11")
@pytest.mark.parametrize("subject", ["app", "client app"])
def test_nobody_passes_for_a_client_that_comes_by_itself(subject: str) -> None:
    itself, person = principal("app", None)[0], principal("other", subject)[0]
    assert person.issuer == ISSUER
    assert itself.key != person.key


@pytest.mark.shows("L11")
def test_what_retries_have_in_common_is_unambiguous() -> None:
    assert principal("app", "ann x")[1] != principal("x app", "ann")[1]
    assert principal("x app", "ann")[1] != principal("app", "ann")[1]


@pytest.mark.parametrize("has_store", [False, True])
async def test_a_server_with_a_store_says_that_its_calls_outlive_it(tmp_path: Path, has_store: bool) -> None:
    server = Handraise(store=tmp_path / "questions.db" if has_store else None).install(MCPServer("shop"))
    async with Client(server, mode="auto") as client:
        assert client.server_capabilities is not None
        assert ("handraise/resumes" in (client.server_capabilities.experimental or {})) is has_store
