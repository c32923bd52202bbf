"""Codes into tokens, old tokens into new ones, and tokens taken back: the requests that no browser makes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_token_request
from authlib.oauth2.rfc7009 import prepare_revoke_token_request

from handraise.errors import AccountError
from handraise.issuers.requests import post
from handraise.pages.oauth.authorization import AuthorizationRequest
from handraise.pages.oauth.discovery import Metadata, Registration
from handraise.vault import Secret


@dataclass(frozen=True, slots=True)
class Grant:
    """The token endpoint's answer."""

    access_token: Secret
    refresh_token: Secret | None
    expires_at: float | None
    """Wall clock, in seconds; None when it does not say."""
    scopes: frozenset[str]
    id_token: Secret | None = None


class Token(Secret):
    """An access token. `.reveal()` gives it to the request that needs it; no text shows it.

    `expires_at` (wall clock) and `scopes` are what the service said. Ask for it in every call: it is renewed
    when it is about to expire.
    """

    __slots__ = ("expires_at", "grant", "scopes")

    def __init__(self, grant: Grant) -> None:
        super().__init__(grant.access_token.reveal())
        self.grant: Grant = grant
        self.expires_at: float | None = grant.expires_at
        self.scopes: frozenset[str] = grant.scopes


_HEADERS: Final = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}


class GrantOver(AccountError):
    """The service takes this code or refresh token no more (`invalid_grant`)."""


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
    """A new grant in place of one that expires. The refresh token stays, unless the service gave another."""
    assert old.refresh_token is not None
    body = prepare_token_request(
        "refresh_token", "", refresh_token=old.refresh_token.reveal(), **registration.indicator
    )
    return parse_grant(await _granted(registration, server, body), old.scopes, old.refresh_token)


async def revoke(registration: Registration, server: Metadata, grant: Grant) -> bool:
    """Have the service forget a grant (RFC 7009); False when it has no way for that."""
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
    """A request with which this server says who it is."""
    secret = registration.client_secret
    method = _auth_method(server) if secret is not None else "none"
    auth = ClientAuth(registration.client_id, None if secret is None else secret.reveal(), method)
    _, headers, body = auth.prepare("POST", url, headers, body)
    if (
        method == "client_secret_basic"
    ):  # servers made with the MCP SDK look for the id beside the header, too
        body = f"{body}&{urlencode({'client_id': registration.client_id})}"
    return await post(url, headers, body, registration.reach)


def _auth_method(server: Metadata) -> str:
    known = ("client_secret_basic", "client_secret_post")
    return next((method for method in known if method in server.token_auth_methods), known[0])


def parse_grant(
    answer: dict[str, Any],
    scopes: frozenset[str],
    refresh_token: Secret | None = None,
    clock: Callable[[], float] = time.time,
) -> Grant:
    """Read a token endpoint's answer; `scopes` and `refresh_token` are the values if the answer has none.

    Only bearer tokens: another kind would not work as one.
    """
    access, refresh, identity = (answer.get(name) for name in ("access_token", "refresh_token", "id_token"))
    scope = answer.get("scope")
    if not isinstance(access, str) or not access or str(answer.get("token_type")).lower() != "bearer":
        raise AccountError("the token endpoint answered with no bearer token")
    return Grant(
        Secret(access),
        Secret(refresh) if isinstance(refresh, str) and refresh else refresh_token,
        _end(answer.get("expires_in"), clock()),
        frozenset(scope.replace(",", " ").split()) if isinstance(scope, str) else scopes,
        Secret(identity) if isinstance(identity, str) else None,
    )


def _end(lifetime: object, now: float) -> float | None:
    """When a token ends. Some servers write the number as text."""
    try:
        return None if lifetime is None else now + float(str(lifetime))
    except ValueError:
        return None


def _reason(status: int, answer: dict[str, Any]) -> str:
    """For the log: the kind of error only, since descriptions may repeat what was sent."""
    return f"{str(answer.get('error', 'no reason'))[:60]!r}, status {status}"
