"""Where pages are served: in the server's own application, or on this computer while one waits."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount
from tests.client.hosts import over_http
from tests.server.filling import SECRET, AtTheBrowser, fill
from tests.server.peers import DECLINE, Person, connect, runtime_of, text_of
from tests.server.rounds import Rounds, by_hand, sign_in

from handraise import Handraise, ask, processes
from handraise import Person as Somebody
from handraise.errors import SetupError, UsageError
from handraise.pages import OwnSessions, Pages
from handraise.revisions import Revision
from handraise.server.pages_host import require_public_url

PUBLIC = "https://mcp.example.com"
ISSUER = "https://id.example"


def with_tool(server: MCPServer) -> MCPServer:
    @server.tool()
    async def issue() -> str:
        answer = await ask.secret("GitHub token", service="github", timeout=20)
        return answer.data.reveal() if answer.action == "accept" else answer.action

    return server


def signed_in(request: Request) -> Somebody | None:
    user = request.cookies.get("user")
    return Somebody(ISSUER, user, "token") if user else None


async def link_of(rounds: Rounds, **more: Any) -> tuple[str, dict[str, Any]]:
    first = await rounds.call("issue", {}, **more)
    ((key, request),) = first["inputRequests"].items()
    return request["params"]["url"], {
        "state": first["requestState"],
        "responses": {key: {"action": "accept"}},
    }


def sdk_app(kit: Handraise) -> tuple[Any, Starlette]:
    server = with_tool(kit.install(MCPServer("notes")))
    return server, server.streamable_http_app()


def fastmcp_app(kit: Handraise) -> tuple[Any, Starlette]:
    from fastmcp import FastMCP

    server: Any = kit.install(FastMCP("notes"))
    with_tool(server)
    return server._mcp_server, server.http_app()


def other_app(kit: Handraise) -> tuple[Any, Starlette]:
    server = with_tool(MCPServer("notes"))
    kit.install(server._lowlevel_server)
    return server, Starlette(routes=[Mount("/handraise", app=kit.pages_app(server._lowlevel_server))])


@pytest.mark.shows("L7", "L9")
@pytest.mark.parametrize("app_of", [sdk_app, fastmcp_app, other_app])
async def test_pages_are_part_of_the_servers_application_and_of_one_person(
    app_of: Callable[[Handraise], tuple[Any, Starlette]],
) -> None:
    told: list[tuple[str, str]] = []
    pages = Pages(sign_in=OwnSessions(signed_in), record=lambda what, _, why: told.append((what, why)))
    kit = Handraise(public_url=PUBLIC + "/", pages=pages)
    server, app = app_of(kit)
    web = httpx.ASGITransport(app=app)
    enter = {"do": "enter", "s0": SECRET}
    sign_in("ada", issuer=ISSUER)
    try:
        async with by_hand(server) as rounds:
            link, retry = await link_of(rounds)
            assert link.startswith(f"{PUBLIC}/handraise/")
            assert await fill(link, enter, web) == 401
            assert await fill(link, enter, web, "user=mallory") == 403
            assert told == [("refused", "another person")]
            assert await fill(link, enter, web, "user=ada") == 303
            assert (await rounds.call("issue", {}, **retry))["content"][0]["text"] == SECRET
            again = await rounds.call("issue", {})
            assert again["content"][0]["text"] == SECRET
            sign_in("mallory", issuer=ISSUER)
            assert "inputRequests" in await rounds.call("issue", {}), "nobody is served by another's secret"
    finally:
        sign_in(None)


async def test_styles_are_found_where_the_pages_say_they_are() -> None:
    kit = Handraise(public_url=PUBLIC, pages=Pages(sign_in=OwnSessions(signed_in)))
    _, app = sdk_app(kit)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=PUBLIC) as browser:
        missing = await browser.get("/handraise/none")
        assert missing.status_code == 404
        assert missing.headers["x-frame-options"] == "DENY"
        assert '"/handraise/static/handraise.css"' in missing.text
        assert (await browser.get("/handraise/static/handraise.css")).status_code == 200


@pytest.mark.shows("L7")
@pytest.mark.parametrize(
    ("options", "person", "words"),
    [
        ({}, "ada", "public_url"),
        ({"public_url": PUBLIC}, "ada", "sign_in"),
    ],
)
async def test_a_page_whose_person_could_not_be_known_is_not_asked_for(
    options: dict[str, Any], person: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "handraise")
    server = with_tool(Handraise(**options).install(MCPServer("notes")))
    sign_in(person)
    try:
        async with by_hand(server) as rounds:
            result = await rounds.call("issue", {})
    finally:
        sign_in(None)
    assert result["isError"]
    assert words in caplog.text


@pytest.mark.parametrize(
    "url", ["http://mcp.example.com", "ftp://x", "mcp.example.com", "https://a@b/", "https://x/?q=1", ""]
)
def test_a_public_address_that_is_none_or_unsafe_is_refused(url: str) -> None:
    with pytest.raises(SetupError):
        Handraise(public_url=url)


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ("https://MCP.example.com:443/", "https://mcp.example.com"),
        ("https://mcp.example.com:8443/base/", "https://mcp.example.com:8443/base"),
        ("http://127.0.0.1:80", "http://127.0.0.1"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_a_public_address_is_known_as_browsers_write_it(given: str, known: str) -> None:
    assert require_public_url(given) == known


def test_pages_are_not_mounted_where_nobody_can_reach_them() -> None:
    kit, server = Handraise(), Server("low")
    kit.install(server)
    with pytest.raises(UsageError):
        kit.pages_app(server)


@pytest.mark.shows("L10")
async def test_the_listener_of_a_local_server_is_there_while_a_page_waits_and_goes_when_none_does() -> None:
    told: list[str] = []
    pages = Pages(idle=0.05, record=lambda what, *_: told.append(what))
    server = with_tool(Handraise(pages=pages).install(MCPServer("notes")))
    person = AtTheBrowser()
    async with connect(server, Revision.JULY_2026, person) as client:
        runtime = runtime_of(server)
        assert "pages" not in runtime.__dict__, "nothing is loaded before a page is needed"
        assert text_of(await client.call_tool("issue")) == SECRET
        await person.done()
        loopback = runtime.pages._loopback
        assert loopback is not None
        assert loopback[0]._watch is not None
        await asyncio.wait_for(loopback[0]._watch, 5)
        assert not loopback[0].listener.is_running
        assert not runtime.pages.visits.wait_for("system")
    assert told == ["opened", "completed"]


@pytest.mark.shows("L10")
async def test_the_listener_ends_with_the_server() -> None:
    server = with_tool(Handraise().install(MCPServer("notes")))
    async with connect(server, Revision.JULY_2026, Person(lambda _: None)):
        pass
    async with by_hand(server) as rounds:
        link, _ = await link_of(rounds)
        assert await fill(link, {"do": "look"}) == 422
    async with httpx.AsyncClient() as browser:
        with pytest.raises(httpx.ConnectError):
            await browser.get(link)


@pytest.mark.shows("L7")
async def test_callers_whom_nothing_tells_apart_never_share_a_page() -> None:
    """Both are nobody, and their JSON-RPC ids are the same; the secret of one is not for the other."""
    server = with_tool(Handraise(public_url="http://127.0.0.1:1").install(MCPServer("notes")))
    one, other = asyncio.Event(), asyncio.Event()
    links: set[str] = set()

    def asked(own: asyncio.Event, others: asyncio.Event) -> Callable[[Any], Any]:
        async def answer(params: Any) -> Any:
            links.add(params.url)
            own.set()
            await others.wait()  # both pages wait at the same time
            return DECLINE

        return answer

    async with (
        over_http(server.streamable_http_app()) as url,
        connect(url, Revision.JULY_2026, Person(asked(one, other))) as first,
        connect(url, Revision.JULY_2026, Person(asked(other, one))) as second,
        asyncio.timeout(60),
    ):
        await asyncio.gather(first.call_tool("issue"), second.call_tool("issue"))
    assert len(links) == 2


@pytest.mark.shows("L10")
@pytest.mark.parametrize("revision", [Revision.NOVEMBER_2025, Revision.JULY_2026], ids=str)
async def test_where_the_system_does_not_tell_the_question_shows_a_code_and_the_link_does_not(
    revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_TABLES", ((Path("/nowhere"), socket.AF_INET),))
    server = with_tool(Handraise().install(MCPServer("notes")))
    person = Person(DECLINE)
    async with connect(server, revision, person) as client:
        await client.call_tool("issue")
    found = re.search(r"If the page asks for a code, type: (\w{5}-\w{5})", person.messages[0])
    assert found is not None
    assert found[1] not in person.asked[0].url  # type: ignore[union-attr]


async def test_the_author_can_say_whose_an_access_token_is(caplog: pytest.LogCaptureFixture) -> None:
    people: list[Any] = [("https://other.example", "ann"), None, ("", ""), "ann"]
    kit = Handraise(public_url=PUBLIC, person=lambda token: people[0] if token.client_id == "app" else None)
    server = with_tool(kit.install(MCPServer("notes")))

    @server.tool()
    async def whoami() -> str:
        return str(ask.person())

    async with by_hand(server) as rounds:
        sign_in("somebody")
        said = (await rounds.call("whoami", {}))["content"][0]["text"]
        assert said == str(Somebody("https://other.example", "ann", "token"))
        people.pop(0)
        caplog.clear()
        await rounds.call("issue", {})
        assert "does not say whose it is. Found mcp 2" in caplog.text
        for _ in range(2):
            people.pop(0)
            with pytest.raises(MCPError):
                await rounds.call("whoami", {})
            assert "person= returns (issuer, subject)" in caplog.text
    sign_in(None)
