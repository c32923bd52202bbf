"""Installing into the three kinds of servers, and what the SDK must be for it."""

from __future__ import annotations

import importlib.metadata
import inspect
from pathlib import Path
from typing import Any
from unittest import mock

import mcp_types as types
import pytest
from fastmcp import Context as FastContext
from fastmcp import FastMCP
from mcp import Client
from mcp.server.connection import Connection
from mcp.server.mcpserver import MCPServer
from mcp.server.request_state import RequestStateBoundary
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from tests.server.peers import DECLINE, Person, accept, connect, text_of
from tests.server.rounds import accepted, by_hand

from handraise import Accepted, Handraise, UrlQuestion, ask, replayable
from handraise.errors import HandraiseError, SetupError, StoreError
from handraise.revisions import Revision
from handraise.server.middleware import AskingMiddleware, TokenBypass
from handraise.server.rebind import channel_of
from handraise.stores import MemoryStore, SqliteStore


def target_of(server: Any) -> Any:
    """What the SDK's client connects to."""
    return getattr(server, "_mcp_server", server)


async def pay() -> str:
    first = await ask.text("To whom?")
    second = await ask.confirm("Really?")
    return f"{first.or_stop()} {second.action}"


async def stop() -> str:
    return (await ask.text("Go on?")).or_stop()


@pytest.mark.shows("N5")
async def test_a_fastmcp_server_that_tells_no_details_of_errors_tells_ours(revision: Revision) -> None:
    server: FastMCP[Any] = Handraise().install(FastMCP("fast", mask_error_details=True))
    server.tool(stop)
    async with connect(target_of(server), revision, Person(DECLINE)) as client:
        result = await client.call_tool("stop")
        assert result.is_error
        assert text_of(result) == "The person declined. Nothing was done."
    async with connect(target_of(server), revision) as client:
        if revision.modern:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("stop")
            assert refused.value.code == -32021
        else:
            assert "cannot be asked" in text_of(await client.call_tool("stop"))


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
        assert (end.code, end.message) == (-32603, "The person declined. Nothing was done.")
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
    async with connect(
        server, Revision.JULY_2026, Person(accept(answer="A"), accept(confirm=True))
    ) as client:
        await client.call_tool("pay")
    assert log == ["up", "round", "round", "round", "down"]


def test_installing_twice_is_refused() -> None:
    server = MCPServer("twice")
    Handraise().install(server)
    with pytest.raises(SetupError, match="already"):
        Handraise().install(server)


def test_installing_into_something_else_says_what_to_give() -> None:
    with pytest.raises(SetupError, match="MCPServer, a lowlevel Server or a FastMCP"):
        Handraise().install(object())


@pytest.mark.shows("N8")
@pytest.mark.parametrize("version", ["1.27.0", "2.0.0"])
def test_an_older_sdk_is_refused_with_the_version_it_needs(version: str) -> None:
    old = mock.patch.object(importlib.metadata, "version", return_value=version)
    with old, pytest.raises(SetupError, match=r"mcp>=2\.0\.1,<3"):
        Handraise().install(MCPServer("old"))


NAN, INFINITE = float("nan"), float("inf")
WRONG: dict[str, list[Any]] = {
    "timeout": [0, -1, NAN, INFINITE, "5", True],
    "hold": [0, -1, NAN, INFINITE, None, "x"],
    "keep_awake": [0, -1, NAN, INFINITE, None, "x"],
    "retry_window": [0, -1, NAN, INFINITE, None, "60"],
    "linger": [-1, NAN, INFINITE, None, "x", False],
    "max_questions": [0, -1, None, "3", 1.5, True],
    "max_reasks": [-1, None, "3", 1.5, NAN],
    "max_parked": [0, -5, None, "a", INFINITE],
    "resume": ["reply", None, 1, []],
    "store": ["", 5, b"notes.db", "mysql://me:hush@db/x", object()],
    "public_url": ["", 5, "foo", "http://example.com", b"https://mcp.example.com"],
    "pages": [5, "pages", {}],
    "ledger": [5, 0, 1, "", b"ledger.db", [], "mysql://me:hush@db/x"],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_an_option_that_makes_no_sense_is_refused_by_its_name(
    name: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(SetupError, match=f"^{name} ") as refused:
        Handraise(**{name: value})
    assert "hush" not in str(refused.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["store", "ledger"])
def test_a_directory_is_no_file(name: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {name: tmp_path}
    with pytest.raises(SetupError, match=rf"^{name} takes the path of a file.* not the directory"):
        Handraise(**options)


def test_a_file_is_not_called_as_sqlite_calls_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SetupError, match=r"not ':memory:' \(what is named no store is kept in memory\)"):
        Handraise(store=":memory:")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("keys", [[], ["short"], "k" * 40, b"k" * 40, [64], [None], 64])
def test_keys_that_are_none_are_refused_where_they_are_given(keys: Any, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="key"):
        Handraise(store=tmp_path / "store.db", keys=keys)
    assert not list(tmp_path.iterdir())


def test_keys_without_a_file_to_seal_are_refused() -> None:
    with pytest.raises(SetupError, match="keys= seals"):
        Handraise(keys=[b"x" * 32])


def test_every_number_that_makes_sense_is_taken() -> None:
    Handraise(timeout=1, hold=0.5, max_questions=1, max_reasks=0, max_parked=1, retry_window=1, linger=0)


def test_pages_of_a_server_that_was_not_installed_say_what_to_do() -> None:
    with pytest.raises(SetupError, match=r"install\(server\)"):
        Handraise().pages_app(MCPServer("plain"))


async def test_a_file_that_is_no_store_is_told_when_the_server_starts(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"no database at all, but long enough to be one" * 50)
    server = Handraise(store=path).install(MCPServer("broken"))
    with pytest.raises(StoreError, match=r"store\.db"):
        async with by_hand(server):
            raise AssertionError


async def test_keys_that_open_nothing_of_what_waits_are_told_when_the_server_starts(tmp_path: Path) -> None:
    path, old, new = tmp_path / "store.db", "o" * 32, "n" * 32

    def started(*keys: str) -> Any:
        server = Handraise(store=path, keys=keys).install(MCPServer("sealed"))
        server.add_tool(replayable(stop))
        return by_hand(server)

    async with started(old) as rounds:
        first = await rounds.call("stop", {})
    with pytest.raises(SetupError, match="not among its keys"):
        async with started(new):
            raise AssertionError
    assert not path.with_name("store.db-wal").exists(), "who could not start has let go of the file"
    retry = {"state": first["requestState"], "responses": accepted(first, answer="yes")}
    async with started(new, old) as rounds:
        assert (await rounds.call("stop", {}, **retry))["content"][0]["text"] == "yes"
    async with started(new):
        pass


def test_the_private_names_of_the_sdk_that_we_touch_are_where_we_expect_them() -> None:
    """When this fails, the SDK has moved something: mend `server/rebind.py` (the body's view of its request),
    then the version range in pyproject.toml."""
    session = inspect.getsource(ServerSession.__init__)
    assert "self._request_outbound = request_outbound" in session
    assert "self._connection = connection" in session
    assert "self._allowed_log_levels" in session
    connection = Connection.for_loop(mock.Mock())
    assert {
        "client_capabilities",
        "state",
        "session_id",
        "outbound",
        "exit_stack",
    } <= set(vars(connection))
    assert "_lowlevel_server" in vars(MCPServer("x"))
    assert "_mcp_server" in vars(FastMCP("x"))


@pytest.mark.parametrize("when", ["before the start", "while it runs"])
async def test_the_authors_middleware_keeps_the_context_of_a_round_that_a_body_is_suspended_at(
    when: str,
) -> None:
    server = MCPServer("watched")
    Handraise().install(server)
    chain = server._lowlevel_server.middleware
    kept: list[bool] = []

    async def watching(ctx: Any, call_next: Any) -> Any:
        before = ctx.request_id, channel_of(ctx.session)
        result = await call_next(ctx)
        if ctx.method == "tools/call":
            kept.append((ctx.request_id, channel_of(ctx.session)) == before)
        return result

    @server.tool()
    async def greet() -> str:
        return f"Hello, {(await ask('Your name?', str)).or_stop()}"

    if when == "before the start":
        chain.insert(0, watching)
    async with connect(server, Revision.JULY_2026, Person(accept(value="Ada"))) as client:
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


async def test_accepted_is_the_only_answer_with_data() -> None:
    from handraise import Cancelled, Declined

    assert Accepted(1).data == 1
    assert not hasattr(Declined(), "data")
    assert not hasattr(Cancelled(), "data")


async def test_the_environment_names_a_store_for_whoever_names_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDRAISE_STORE", str(tmp_path / "all.db"))
    named = Handraise().store
    assert isinstance(named, SqliteStore)
    await named.pending()
    await named.aclose()
    assert (tmp_path / "all.db").exists()
    assert isinstance(Handraise(store=MemoryStore()).store, MemoryStore)
    monkeypatch.delenv("HANDRAISE_STORE")
    assert isinstance(Handraise().store, MemoryStore)
