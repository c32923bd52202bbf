"""How the vault keeps a connected account, and what it takes to have the service forget it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from handraise.errors import AccountError
from handraise.issuers.reach import ANYWHERE, Reach, parse_networks
from handraise.pages.oauth.account import Account
from handraise.pages.oauth.discovery import find_server
from handraise.pages.oauth.grants import revoke
from handraise.pages.oauth.registration import Endpoints, FromVariable, Registration
from handraise.pages.oauth.token import Grant
from handraise.vault import Secret

_KIND = "oauth"


def dump_kept(account: Account, grant: Grant) -> dict[str, Any]:
    """A grant as the vault keeps it, with whom it was given to. The client secret is not among it."""
    secret = account.client_secret
    return {
        "kind": _KIND,
        **_whom(account),
        "asked": sorted(account.scopes),
        "client_secret": None if secret is None else getattr(secret, "name", ""),
        "access_token": grant.access_token.reveal(),
        "refresh_token": None if grant.refresh_token is None else grant.refresh_token.reveal(),
        "expires_at": grant.expires_at,
        "scopes": sorted(grant.scopes),
    }


def parse_kept(contents: Mapping[str, Any], account: Account | None = None) -> Grant | None:
    """What the vault kept; None when it is no grant, or was not given to this account for all of its scopes."""
    if contents.get("kind") != _KIND:
        return None
    if account is not None:
        whom = _whom(account)
        if {name: contents.get(name) for name in whom} != whom:
            return None
        if not set(account.scopes) <= set(contents["asked"]):
            return None
    refresh = contents["refresh_token"]
    return Grant(
        Secret(contents["access_token"]),
        None if refresh is None else Secret(refresh),
        contents["expires_at"],
        frozenset(contents["scopes"]),
    )


async def revoke_kept(contents: Mapping[str, Any]) -> bool:
    """Have the service forget what the vault kept; False when that is no grant, or the service has no way for it."""
    if (grant := parse_kept(contents)) is None:
        return False
    secret, endpoints = contents["client_secret"], contents["endpoints"]
    if secret == "":
        raise AccountError(
            "the client secret is in the server's own program: give it FromVariable(…), or revoke it at the service"
        )
    registration = Registration(
        contents["client_id"],
        None if secret is None else FromVariable(secret),
        contents["issuer"],
        None if endpoints is None else Endpoints(**endpoints),
        contents.get("resource"),
        _reach(contents.get("named_by")),
    )
    return await revoke(registration, await find_server(registration), grant)


def _reach(named_by: Mapping[str, Any] | None) -> Reach:
    """Where the service may be: anywhere for an author's own, else as far as the server reached that named it."""
    if named_by is None:
        return ANYWHERE
    return Reach(True, parse_networks(named_by["networks"]), named_by["server"])


def _whom(account: Account) -> dict[str, Any]:
    """Which registration a grant belongs to: it serves no other."""
    endpoints = None if account.endpoints is None else asdict(account.endpoints)
    whom = {"issuer": account.issuer, "endpoints": endpoints, "client_id": account.client_id}
    return whom if account.resource is None else {**whom, "resource": account.resource}
