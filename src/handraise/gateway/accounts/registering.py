"""What an authorization server knows the gateway as: told beforehand, or by registering there (RFC 7591)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final

from handraise.errors import AccountError
from handraise.gateway.upstreams import OwnClient
from handraise.issuers.reach import Reach
from handraise.issuers.wire import post
from handraise.pages.oauth.discovery import Metadata
from handraise.questions import Person
from handraise.vault import Vault

OURSELVES: Final = Person("handraise:gateway", "", "system")
"""In whose name the vault keeps what belongs to no single person."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the gateway is registered: at one authorization server, for one address to come back to."""

    server: Metadata
    redirect_uri: str
    scopes: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the vault knows the registration by."""
        place = hashlib.sha256(f"{self.server.issuer}\n{self.redirect_uri}".encode()).hexdigest()
        return f"client-{place[:24]}"

    def require_open(self, known: OwnClient | None) -> None:
        """AccountError when the gateway is not registered there, and cannot be."""
        if known is None and self.server.registration_endpoint is None:
            raise AccountError(
                f"{self.server.issuer} does not let clients register: register the gateway there by hand, with the "
                f"redirect address {self.redirect_uri}, and give its client id in the configuration (`oauth`: "
                "`clientId`)"
            )


async def find_registered(place: Place, vault: Vault) -> OwnClient | None:
    """The registration that the vault has, if it may ask for these scopes; nobody else is asked."""
    kept = await vault.find(OURSELVES, place.name)
    if kept is None or not set(place.scopes) <= set(kept["scopes"]):
        return None
    return OwnClient(kept["client_id"], kept["client_secret"])


async def register(place: Place, vault: Vault, reach: Reach) -> OwnClient:
    """Register the gateway, and keep the registration. It is a POST to an address that a server named.

    A server may hold a client to the scopes with which it registered, so these are all there are: registering asks
    nobody for anything.
    """
    scopes = tuple(dict.fromkeys([*place.scopes, *place.server.scopes]))
    kept = await _register(place.server, place.redirect_uri, scopes, reach)
    await vault.keep(OURSELVES, place.name, kept)
    return OwnClient(kept["client_id"], kept["client_secret"])


async def _register(
    server: Metadata, redirect_uri: str, scopes: tuple[str, ...], reach: Reach
) -> dict[str, Any]:
    assert server.registration_endpoint is not None
    wanted = {
        "client_name": "Handraise gateway",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        **({"scope": " ".join(scopes)} if scopes else {}),
    }
    headers = {"content-type": "application/json", "accept": "application/json"}
    status, answer = await post(server.registration_endpoint, headers, json.dumps(wanted), reach)
    if status not in (200, 201) or not isinstance(answer.get("client_id"), str) or not answer["client_id"]:
        reason = str(answer.get("error", "no reason"))[:60]
        raise AccountError(f"{server.issuer} did not register the gateway: {reason!r}, status {status}")
    secret = answer.get("client_secret")
    return {
        "client_id": answer["client_id"],
        "client_secret": secret if isinstance(secret, str) and secret else None,
        "scopes": list(scopes),
    }
