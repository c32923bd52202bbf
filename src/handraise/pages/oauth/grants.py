"""Requests without a browser: exchange a code for tokens, renew tokens, revoke them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_token_request
from authlib.oauth2.rfc7009 import prepare_revoke_token_request

from handraise.errors import AccountError
from handraise.issuers import post
from handraise.pages.oauth.authorization import AuthorizationRequest
from handraise.pages.oauth.discovery import Metadata, Registration
from handraise.vault import Secret


@dataclass(frozen=True, slots=True)
class Grant:
    """The token endpoint's answer."""

    access_token: Secret
    refresh_token: Secret | None
    expires_at: float | None
    """Seconds since the epoch; None if unknown."""
    scopes: frozenset[str]
    id_token: Secret | None = None


class Token(Secret):
    """An access token. `.reveal()` returns it; its `repr` and `str` do not show it.

    `expires_at` (seconds since the epoch) and `scopes` come from the service. Ask for the token in every call: it is
    renewed before it expires.
    """

    __slots__ = ("expires_at", "grant", "scopes")

    def __init__(self, grant: Grant) -> None:
        super().__init__(grant.access_token.reveal())
        self.grant: Grant = grant
        self.expires_at: float | None = grant.expires_at
        self.scopes: frozenset[str] = grant.scopes


_HEADERS: Final = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}


class GrantOver(AccountError):
    """The service no longer accepts this code or refresh token (`invalid_grant`)."""


async def redeem(
    registration: Registration, departure: AuthorizationRequest, code: str, scopes: Iterable[str]
) -> Grant:
    """Exchange a code for tokens. Only the server with this departure's verifier can."""
    body = prepare_token_request(
        "authorization_code",
        "",
        departure.redirect_uri,
        code=code,
        code_verifier=departure.verifier,
        **registration.indicator,
    )
    return parse_grant(await _granted(registration, departure.server, body), frozenset(scopes))


async def renew(registration: Registration, server: Metadata, old: Grant) -> Grant:
    """Renew a grant. The refresh token stays unless the service sends a new one."""
    assert old.refresh_token is not None
    body = prepare_token_request(
        "refresh_token", "", refresh_token=old.refresh_token.reveal(), **registration.indicator
    )
    return parse_grant(await _granted(registration, server, body), old.scopes, old.refresh_token)


async def revoke(registration: Registration, server: Metadata, grant: Grant) -> bool:
    """Revoke a grant (RFC 7009); False when the service cannot."""
    if server.revocation_endpoint is None:
        return False
    hint = "access_token" if grant.refresh_token is None else "refresh_token"
    token = grant.refresh_token or grant.access_token
    body, headers = prepare_revoke_token_request(token.reveal(), hint, "", dict(_HEADERS))
    status, answer = await _authenticated(registration, server, server.revocation_endpoint, headers, body)
    if status != 200:
        raise AccountError(f"revoking was refused: {_reason(status, answer)}")
    return True


async def _granted(registration: Registration, server: Metadata, body: str) -> dict[str, Any]:
    status, answer = await _authenticated(registration, server, server.token_endpoint, dict(_HEADERS), body)
    if answer.get("error") == "invalid_grant":
        raise GrantOver("the service takes this no more")
    if status != 200 or "error" in answer:
        raise AccountError(f"no token: {_reason(status, answer)}")
    return answer


async def _authenticated(
    registration: Registration, server: Metadata, url: str, headers: dict[str, str], body: str
) -> tuple[int, dict[str, Any]]:
    """A request with this server's client authentication."""
    secret = registration.client_secret
    method = _auth_method(server) if secret is not None else "none"
    auth = ClientAuth(registration.client_id, None if secret is None else secret.reveal(), method)
    _, headers, body = auth.prepare("POST", url, headers, body)
    if method == "client_secret_basic":  # servers made with the MCP SDK also need the id in the body
        body = f"{body}&{urlencode({'client_id': registration.client_id})}"
    return await post(url, headers, body, registration.reach)


def _auth_method(server: Metadata) -> str:
    known = ("client_secret_basic", "client_secret_post")
    return next((method for method in known if method in server.token_auth_methods), known[0])


def parse_grant(answer: dict[str, Any], scopes: frozenset[str], refresh_token: Secret | None = None) -> Grant:
    """Parse a token endpoint's answer; `scopes` and `refresh_token` are the defaults.

    Only bearer tokens: another kind would not work as one.
    """
    access, refresh, identity = (answer.get(name) for name in ("access_token", "refresh_token", "id_token"))
    scope = answer.get("scope")
    if not isinstance(access, str) or not access or str(answer.get("token_type")).lower() != "bearer":
        raise AccountError("the token endpoint answered with no bearer token")
    return Grant(
        Secret(access),
        Secret(refresh) if isinstance(refresh, str) and refresh else refresh_token,
        _end(answer.get("expires_in"), time.time()),
        frozenset(scope.replace(",", " ").split()) if isinstance(scope, str) else scopes,
        Secret(identity) if isinstance(identity, str) else None,
    )


def _end(lifetime: object, now: float) -> float | None:
    """When a token expires. Some servers send the number as text."""
    try:
        return None if lifetime is None else now + float(str(lifetime))
    except ValueError:
        return None


def _reason(status: int, answer: dict[str, Any]) -> str:
    """The error code for the log. Descriptions are dropped: they may repeat what was sent."""
    return f"{str(answer.get('error', 'no reason'))[:60]!r}, status {status}"
