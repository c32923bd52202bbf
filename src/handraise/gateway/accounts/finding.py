"""Whose tokens a server takes: what it publishes, and what its authorization server does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from mcp.client.auth.utils import build_protected_resource_metadata_discovery_urls
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url

from handraise.errors import AccountError
from handraise.gateway.accounts.challenge import Challenge
from handraise.issuers.reach import Reach
from handraise.issuers.wire import NotThere, fetch
from handraise.pages.oauth.discovery import AnotherIssuer, Metadata, find_issuer

_MOST_SCOPES: Final = 50


@dataclass(frozen=True, slots=True)
class Protection:
    """What stands before a server."""

    issuer: str
    resource: str
    """What a token has to be for (RFC 8707)."""
    scopes: tuple[str, ...] = ()


async def find_protection(url: str, challenge: Challenge, reach: Reach) -> Protection:
    """What protects the server at a URL. One that publishes nothing is its own authorization server, as of old."""
    for place in build_protected_resource_metadata_discovery_urls(challenge.metadata_url, url):
        try:
            return parse_protection(url, await fetch(place, reach), challenge)
        except NotThere:
            continue
    parts = urlsplit(url)
    return Protection(f"{parts.scheme}://{parts.netloc}", resource_url_from_server_url(url), challenge.scopes)


def parse_protection(url: str, published: dict[str, Any], challenge: Challenge) -> Protection:
    """What a server publishes of itself. AccountError when it speaks of another: its tokens would go there."""
    resource, issuers = published.get("resource"), published.get("authorization_servers")
    asked = resource_url_from_server_url(url)
    if not isinstance(resource, str) or not check_resource_allowed(asked, resource):
        raise AccountError(f"{url} publishes about another resource: {resource!r}")
    if not isinstance(issuers, list) or not issuers or not isinstance(issuers[0], str):
        raise AccountError(f"{url} does not publish whose tokens it takes")
    offered = published.get("scopes_supported")
    usual = [scope for scope in offered if isinstance(scope, str)] if isinstance(offered, list) else []
    return Protection(issuers[0], resource, challenge.scopes or tuple(usual[:_MOST_SCOPES]))


async def find_authority(issuer: str, reach: Reach) -> Metadata:
    """The authorization server. A root issuer is the same with a slash at its end and without one.

    AccountError unless it says that it has PKCE: without it a client must not go on.
    """
    try:
        found = await find_issuer(issuer, reach)
    except AnotherIssuer:
        if urlsplit(issuer).path not in ("", "/"):
            raise
        found = await find_issuer(issuer.rstrip("/") + ("" if issuer.endswith("/") else "/"), reach)
    if not found.publishes_pkce:
        raise AccountError(f"{issuer} does not say that it has PKCE with S256, so that nobody is sent there")
    return found
