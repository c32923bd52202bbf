"""Accounts that a tool asks for: by `ask.require` and `ask.connect`, and without the token of the client."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2 as httpx
import mcp_types as types
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from pydantic import AnyHttpUrl
from starlette.requests import Request
from tests.client.hosts import host, over_http
from tests.pages.oauth.authority import Authority, open_authority
from tests.server.filling import ACCEPT
from tests.server.peers import Person, connect, free_port, text_of

from handraise import Handraise, UrlQuestion, ask
from handraise import Person as Somebody
from handraise.desks.scripted import Line
from handraise.pages import OwnSessions, Pages
from handraise.pages.oauth import Account, ConnectPage
from handraise.revisions import Revision

MCP_TOKEN = "the-clients-own-mcp-token"
WITH_URL = [Revision.NOVEMBER_2025, Revision.JULY_2026]


def with_tools(server: MCPServer, authority: Authority) -> MCPServer:
    account = Account("Git Place", "notes-client", authority.issuer, {"repo": "Read your code"}, "secret-77")

    @server.tool()
    async def needy() -> str:
        await ask.require(ConnectPage(account), timeout=20)
        return (await ask.connect(account)).or_stop().reveal()

    @server.tool()
    async def issue() -> str:
        return (await ask.connect(account, timeout=20)).or_stop().reveal()

    return server


async def connect_account(link: str, authority: Authority, cookie: str = "") -> str:
    """Open the page, go on to the service, agree there and come back; the address at which they agreed."""
    parts = urlsplit(link)
    async with httpx.AsyncClient() as browser:
        page = await browser.get(link, headers={"cookie": cookie})
        own = page.headers["set-cookie"].partition(";")[0]
        cookies = {"cookie": "; ".join(filter(None, (own, cookie)))}
        ticket = page.text.partition("ticket=")[2].partition('"')[0]
        out = await browser.get(f"{link}/go?ticket={ticket}", headers=cookies)
        agreed_at = out.headers["location"]
        returned = urlsplit(authority.agree(agreed_at))
        path = urlsplit(parse_qs(urlsplit(agreed_at).query)["redirect_uri"][0]).path
        back = await browser.get(f"{parts.scheme}://{parts.netloc}{path}?{returned.query}", headers=cookies)
        assert back.status_code == 303
    return str(agreed_at)


@pytest.mark.shows("L3")
async def test_a_required_account_is_told_by_32042_and_the_next_call_has_its_token() -> None:
    async with open_authority() as authority:
        server = MCPServer("office")
        Handraise().install(server)
        async with connect(with_tools(server, authority), Revision.NOVEMBER_2025, Person()) as client:
            with pytest.raises(MCPError) as needed:
                await client.call_tool("needy")
            assert needed.value.code == -32042
            (elicitation,) = needed.value.data["elicitations"]
            await connect_account(elicitation["url"], authority)
            assert text_of(await client.call_tool("needy")).startswith("access-")


@pytest.mark.shows("L3", "L4")
async def test_a_required_account_is_a_round_on_the_modern_revision() -> None:
    async with open_authority() as authority:
        server, connecting = MCPServer("office"), list[asyncio.Task[str]]()
        Handraise().install(server)

        async def person(_context: Any, params: Any) -> types.ElicitResult:
            if not connecting:
                connecting.append(asyncio.create_task(connect_account(params.url, authority)))
            return ACCEPT

        async with connect(with_tools(server, authority), Revision.JULY_2026, person) as client:
            assert text_of(await client.call_tool("needy")).startswith("access-")
            await connecting[0]


@pytest.mark.parametrize("revision", WITH_URL, ids=str)
@pytest.mark.shows("L3", "L4")
async def test_the_client_kit_goes_the_whole_way_to_a_required_account(revision: Revision) -> None:
    script = [Line("accept", message="Git Place"), Line("leave", message="Git Place", repeat=True)]
    async with open_authority() as authority:
        server = Handraise().install(MCPServer("office"))
        async with host(with_tools(server, authority), revision, script) as here:
            calling = asyncio.create_task(here.client.call_tool("needy"))
            async with asyncio.timeout(60):
                while not here.events:  # noqa: ASYNC110 - the person has not agreed to the link yet
                    await asyncio.sleep(0.01)
            question = here.events[0].waiting.question
            assert isinstance(question, UrlQuestion)
            await connect_account(question.url, authority)
            async with asyncio.timeout(60):
                assert text_of(await calling).startswith("access-")
            assert here.queue.waiting() == ()


class Tokens:
    """Who comes with the client's token is Ann."""

    async def verify_token(self, token: str) -> AccessToken | None:
        claims = {"iss": "https://id.example", "sub": "ann"}
        known = AccessToken(token=token, client_id="app", scopes=[], subject="ann", claims=claims)
        return known if token == MCP_TOKEN else None


def who(request: Request) -> Somebody | None:
    user = request.cookies.get("user")
    return Somebody("https://id.example", user, "token") if user else None


@pytest.mark.shows("L8")
@pytest.mark.parametrize("revision", WITH_URL, ids=str)
async def test_the_clients_own_token_never_reaches_the_service(revision: Revision) -> None:
    async with open_authority(lifetime=1) as authority:
        public = f"http://127.0.0.1:{free_port()}"
        auth = AuthSettings(
            issuer_url=AnyHttpUrl("https://id.example"),
            resource_server_url=AnyHttpUrl(f"{public}/mcp"),
            validate_token_resource=False,
        )
        server = MCPServer("office", auth=auth, token_verifier=Tokens())
        Handraise(public_url=public, pages=Pages(sign_in=OwnSessions(who))).install(server)
        app = with_tools(server, authority).streamable_http_app()
        connecting: list[asyncio.Task[str]] = []

        async def person(_context: Any, params: Any) -> types.ElicitResult:
            if not connecting:
                connecting.append(asyncio.create_task(connect_account(params.url, authority, "user=ann")))
            return ACCEPT

        async with (
            over_http(app, urlsplit(public).port or 0) as url,
            httpx.AsyncClient(headers={"authorization": f"Bearer {MCP_TOKEN}"}, timeout=30) as web,
            connect(streamable_http_client(url, http_client=web), revision, person) as client,
        ):
            given = text_of(await client.call_tool("issue"))
            renewed = text_of(await client.call_tool("issue"))
            agreed_at = await connecting[0]
        assert given.startswith("access-")
        assert renewed not in (given, MCP_TOKEN), "it ended at once, and the service was asked again"
        assert any("grant_type=refresh_token" in request for request in authority.received)
        assert any("authorization" in request for request in authority.received), "headers are searched, too"
        for request in (agreed_at, *authority.received):
            assert MCP_TOKEN not in request
