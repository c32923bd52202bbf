"""Whose tokens a server takes: believed only where it speaks of itself, and of a server that has PKCE."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pages.oauth.authority import open_authority

from handraise.errors import AccountError
from handraise.gateway.accounts.authority import find_authority, find_protection, parse_protection
from handraise.gateway.accounts.own_account import Challenge
from handraise.issuers import ANYWHERE, PUBLIC

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
