"""What an authorization server knows the gateway as: told beforehand, or by registering there (RFC 7591)."""

from __future__ import annotations

import hashlib
import json
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


async def registered(
    server: Metadata, redirect_uri: str, scopes: tuple[str, ...], vault: Vault, reach: Reach
) -> OwnClient:
    """The gateway as a client of an authorization server, for one address to come back to; the same one every time.

    A server may hold a client to the scopes with which it registered, so that these are all there are: registering
    asks nobody for anything.
    """
    place = hashlib.sha256(f"{server.issuer}\n{redirect_uri}".encode()).hexdigest()
    kept = await vault.find(OURSELVES, f"client-{place[:24]}")
    if kept is None or not set(scopes) <= set(kept["scopes"]):
        kept = await _register(server, redirect_uri, tuple(dict.fromkeys([*scopes, *server.scopes])), reach)
        await vault.keep(OURSELVES, f"client-{place[:24]}", kept)
    return OwnClient(kept["client_id"], kept["client_secret"])


async def _register(
    server: Metadata, redirect_uri: str, scopes: tuple[str, ...], reach: Reach
) -> dict[str, Any]:
    if server.registration_endpoint is None:
        raise AccountError(
            f"{server.issuer} does not let clients register: register the gateway there by hand, with the redirect "
            f"address {redirect_uri}, and give its client id in the configuration (`oauth`: `clientId`)"
        )
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
