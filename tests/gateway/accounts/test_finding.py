"""Whose tokens a server takes: believed only where it speaks of itself, and of a server that has PKCE."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from tests.pages.oauth.authority import open_authority

from handraise.errors import AccountError
from handraise.gateway.accounts.authority import find_authority, find_protection, parse_protection
from handraise.gateway.accounts.own_account import Challenge
from handraise.issuers import ANYWHERE, PUBLIC
from handraise.pages.oauth.discovery import parse_metadata
from handraise.site.listener import Listener

pytestmark = [pytest.mark.anyio, pytest.mark.shows("W8")]

URL = "https://notes.example/team/mcp"


@pytest.mark.parametrize("resource", [URL, "https://notes.example/team/", "https://notes.example"])
def test_a_server_may_speak_of_itself_or_of_what_it_is_part_of(resource: str) -> None:
    published = {
        "resource": resource,
        "authorization_servers": ["https://id.example"],
        "scopes_supported": ["a"],
    }
    found = parse_protection(URL, published, Challenge())
    assert (found.issuer, found.resource, found.scopes) == ("https://id.example", resource, ("a",))
    assert parse_protection(URL, published, Challenge(scopes=("b",))).scopes == ("b",)


@pytest.mark.parametrize(
    "published",
    [
        {"resource": "https://other.example/team/mcp", "authorization_servers": ["https://id.example"]},
        {"resource": "https://notes.example/else", "authorization_servers": ["https://id.example"]},
        {"resource": "http://notes.example/team/mcp", "authorization_servers": ["https://id.example"]},
        {"authorization_servers": ["https://id.example"]},
        {"resource": URL},
        {"resource": URL, "authorization_servers": []},
        {"resource": URL, "authorization_servers": "https://id.example"},
        {"resource": 1, "authorization_servers": [1]},
    ],
)
def test_whoever_speaks_of_another_or_of_nobody_is_not_believed(published: dict[str, Any]) -> None:
    with pytest.raises(AccountError):
        parse_protection(URL, published, Challenge())


@pytest.mark.parametrize(
    "place",
    [
        "https://10.0.0.1/x",
        "http://169.254.169.254/x",
        "https://localhost/x",
        "http://notes.example/x",
        "file:///x",
    ],
)
async def test_a_shared_gateway_follows_no_server_into_a_private_network(place: str) -> None:
    with pytest.raises(AccountError):
        await find_protection(URL, Challenge(place), PUBLIC)


async def test_an_authority_has_pkce_and_says_so() -> None:
    async with (
        open_authority() as good,
        open_authority(says={"code_challenge_methods_supported": None}) as bad,
    ):
        assert (await find_authority(f"{good.issuer}/", ANYWHERE)).issuer == good.issuer
        with pytest.raises(AccountError, match="PKCE"):
            await find_authority(bad.issuer, ANYWHERE)
    async with open_authority(says={"code_challenge_methods_supported": ["plain"]}) as plain:
        with pytest.raises(AccountError, match="PKCE"):
            await find_authority(plain.issuer, ANYWHERE)


async def test_tokens_for_more_than_a_server_are_asked_for_only_where_its_host_says_so() -> None:
    """The attack: one tenant of a host names a document of its own, about the whole host."""
    async with published() as host:
        url = f"{host.base_url}/tenants/evil/mcp"
        for place in (
            "/tenants/evil/about",
            "/.well-known/oauth-protected-resource/../../tenants/evil/about",
        ):
            with pytest.raises(AccountError, match="speaks of more"):
                await find_protection(url, Challenge(f"{host.base_url}{place}"), ANYWHERE)
        found = await find_protection(url, Challenge(), ANYWHERE)
        assert found.resource == host.base_url
        own = await find_protection(f"{host.base_url}/own", Challenge(f"{host.base_url}/about-own"), ANYWHERE)
        assert own.resource == f"{host.base_url}/own"


@asynccontextmanager
async def published() -> AsyncIterator[Listener]:
    """A host whose every document speaks of the host as a whole, but one."""
    listener = Listener("The host")

    async def document(request: Request) -> Response:
        resource = f"{listener.base_url}/own" if request.url.path == "/about-own" else listener.base_url
        return JSONResponse({"resource": resource, "authorization_servers": ["https://id.example"]})

    await listener.start(Starlette(routes=[Route("/{path:path}", document)]))
    try:
        yield listener
    finally:
        await listener.stop()


LONG = "x" * 1_000_000


@pytest.mark.parametrize(
    "long", [LONG, [LONG], {LONG: 1}, f"https://id.example/{LONG}"], ids=["text", "list", "object", "url"]
)
def test_an_error_repeats_no_long_name(long: Any) -> None:
    """Each would be a line of a megabyte in the log."""
    at = "https://id.example"
    published = {"issuer": at, "authorization_endpoint": long, "token_endpoint": long}
    for fails in (
        lambda: parse_protection(URL, {"resource": long}, Challenge()),
        lambda: parse_metadata(at, {"issuer": long}),
        lambda: parse_metadata(at, published),
    ):
        with pytest.raises(AccountError) as caught:
            fails()
        assert len(str(caught.value)) < 1_000
