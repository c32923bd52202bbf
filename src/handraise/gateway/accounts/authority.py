"""Find a server's authorization server (RFC 9728), and register the gateway there (RFC 7591)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from handraise.errors import AccountError
from handraise.gateway.accounts.own_account import Challenge
from handraise.gateway.upstreams import OwnClient
from handraise.issuers import (
    AllowedAddresses,
    NotThere,
    covers,
    fetch,
    metadata_urls,
    post,
    resource_of,
    shortened,
)
from handraise.pages.oauth.discovery import AnotherIssuer, Metadata, find_issuer
from handraise.questions import Person
from handraise.vault import Vault

_MOST_SCOPES: Final = 50


@dataclass(frozen=True, slots=True)
class Protection:
    """How a server is protected."""

    issuer: str
    resource: str
    """The resource of its tokens (RFC 8707)."""
    scopes: tuple[str, ...] = ()


async def find_protection(url: str, challenge: Challenge, reach: AllowedAddresses) -> Protection:
    """How the server at a URL is protected. A server without metadata is its own authorization server."""
    for place in metadata_urls(url, challenge.metadata_url):
        try:
            found = parse_protection(url, await fetch(place, reach), challenge)
        except NotThere:
            continue
        if resource_of(url) != found.resource and place not in metadata_urls(url, None):
            # The attack: one of several servers on a host asks for tokens that are good for all of them.
            raise AccountError(f"{place} speaks of more than {url}, and is not where its host publishes")
        return found
    parts = urlsplit(url)
    return Protection(f"{parts.scheme}://{parts.netloc}", resource_of(url), challenge.scopes)


def parse_protection(url: str, published: dict[str, Any], challenge: Challenge) -> Protection:
    """Parse a server's metadata. AccountError when it is about another resource: tokens would go there."""
    resource, issuers = published.get("resource"), published.get("authorization_servers")
    asked = resource_of(url)
    if not isinstance(resource, str) or not covers(resource, asked):
        raise AccountError(f"{url} publishes about another resource: {shortened(resource)}")
    if not isinstance(issuers, list) or not issuers or not isinstance(issuers[0], str):
        raise AccountError(f"{url} does not publish whose tokens it takes")
    offered = published.get("scopes_supported")
    usual = [scope for scope in offered if isinstance(scope, str)] if isinstance(offered, list) else []
    return Protection(issuers[0], resource, challenge.scopes or tuple(usual[:_MOST_SCOPES]))


async def find_authority(issuer: str, reach: AllowedAddresses) -> Metadata:
    """The metadata of an authorization server. A root issuer may end with a slash or not.

    AccountError unless it offers PKCE, which clients must require.
    """
    try:
        found = await find_issuer(issuer, reach)
    except AnotherIssuer:
        if urlsplit(issuer).path not in ("", "/"):
            raise
        found = await find_issuer(issuer.rstrip("/") + ("" if issuer.endswith("/") else "/"), reach)
    if not found.publishes_pkce:
        raise AccountError(f"{issuer} does not offer PKCE with S256, so nobody is sent there")
    return found


OURSELVES: Final = Person("handraise:gateway", "", "system")
"""The owner in the vault of what belongs to no single person."""


@dataclass(frozen=True, slots=True)
class RegisteredAt:
    """A registration of the gateway: at one authorization server, for one redirect address."""

    server: Metadata
    redirect_uri: str
    scopes: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name in the vault."""
        place = hashlib.sha256(f"{self.server.issuer}\n{self.redirect_uri}".encode()).hexdigest()
        return f"client-{place[:24]}"

    def require_open(self, known: OwnClient | None) -> None:
        """AccountError when the gateway is not registered there and cannot register."""
        if known is None and self.server.registration_endpoint is None:
            raise AccountError(
                f"{self.server.issuer} does not let clients register: register the gateway there by hand, with the "
                f"redirect address {self.redirect_uri}, and give its client id in the configuration (`oauth`: "
                "`clientId`)"
            )

    async def find(self, vault: Vault) -> OwnClient | None:
        """The registration in the vault, if it covers the scopes."""
        kept = await vault.find(OURSELVES, self.name)
        if kept is None or not set(self.scopes) <= set(kept["scopes"]):
            return None
        return OwnClient(kept["client_id"], kept["client_secret"])

    async def register(self, vault: Vault, reach: AllowedAddresses) -> OwnClient:
        """Register the gateway, and keep the registration. This is a POST to an address that a server named.

        A server may limit a client to the scopes of its registration, so it registers all that the server has. No
        person is asked for them yet.
        """
        assert self.server.registration_endpoint is not None
        scopes = list(dict.fromkeys([*self.scopes, *self.server.scopes]))
        wanted = {
            "client_name": "Handraise gateway",
            "redirect_uris": [self.redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            **({"scope": " ".join(scopes)} if scopes else {}),
        }
        headers = {"content-type": "application/json", "accept": "application/json"}
        status, answer = await post(self.server.registration_endpoint, headers, json.dumps(wanted), reach)
        id, secret = answer.get("client_id"), answer.get("client_secret")
        if status not in (200, 201) or not isinstance(id, str) or not id:
            reason = str(answer.get("error", "no reason"))[:60]
            raise AccountError(
                f"{self.server.issuer} did not register the gateway: {reason!r}, status {status}"
            )
        secret = secret if isinstance(secret, str) and secret else None
        await vault.keep(OURSELVES, self.name, {"client_id": id, "client_secret": secret, "scopes": scopes})
        return OwnClient(id, secret)
