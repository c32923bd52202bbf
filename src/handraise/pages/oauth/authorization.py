"""Send a browser to an authorization server, check its return, and find out who signed in.

Then exchange the code for tokens, renew them, and revoke them.
"""

from __future__ import annotations

import hmac
import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlencode

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7009 import prepare_revoke_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from cryptography.fernet import Fernet, InvalidToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jws import extract_compact
from starlette.datastructures import URL, QueryParams

from handraise.errors import AccountError
from handraise.issuers import ALGORITHMS, ANYWHERE, AllowedAddresses, fetch, post, verifying_keys
from handraise.pages.oauth.discovery import Metadata, Registration
from handraise.questions import Person
from handraise.vault import Secret


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """One trip to an authorization server and back."""

    browser: str
    """The browser that left."""
    server: Metadata
    redirect_uri: str
    state: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(64), repr=False)
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def url(self, client_id: str, scopes: Sequence[str], more: Mapping[str, str] | None = None) -> str:
        """Where the browser goes."""
        if "openid" in scopes:
            more = {**(more or {}), "nonce": self.nonce}
        return str(
            prepare_grant_uri(
                self.server.authorization_endpoint,
                client_id,
                "code",
                self.redirect_uri,
                " ".join(scopes),
                self.state,
                code_challenge=create_s256_code_challenge(self.verifier),
                code_challenge_method="S256",
                **(more or {}),
            )
        )

    def is_of(self, browser: str) -> bool:
        """Whether this browser started it."""
        return hmac.compare_digest(self.browser, browser)


@dataclass(frozen=True, slots=True)
class Departed:
    """A browser that left to sign in: its secrets, and the path that it wanted."""

    browser: str
    verifier: str = field(repr=False)
    nonce: str = field(repr=False)
    at: str
    until: float

    def is_of(self, browser: str) -> bool:
        """Whether this browser left."""
        return hmac.compare_digest(self.browser, browser)

    def request(self, server: Metadata, redirect_uri: str, state: str) -> AuthorizationRequest:
        """The request that it made."""
        return AuthorizationRequest(
            self.browser, server, redirect_uri, state=state, verifier=self.verifier, nonce=self.nonce
        )


class Departures:
    """The browsers that left to sign in. Each one is sealed into its own `state`, and used once.

    The attack: nobody has to be known to begin a sign-in. If the beginnings were kept here, many of them would take
    all the memory, or push out those of honest people.
    """

    def __init__(self, clock: Callable[[], float], patience: float) -> None:
        """`patience`: seconds that a sign-in may take."""
        self._clock = clock
        self._patience = patience
        self._seal = Fernet(Fernet.generate_key())
        self._used: dict[str, float] = {}
        """The nonces of those that came back. The oldest of too many are forgotten: an issuer takes a code once."""

    def leave(self, browser: str, server: Metadata, redirect_uri: str, at: str = "") -> AuthorizationRequest:
        """A request for a browser that wanted to see `at`."""
        new = AuthorizationRequest(browser, server, redirect_uri)
        left = Departed(browser, new.verifier, new.nonce, at, self._clock() + self._patience)
        return replace(new, state=self._seal.encrypt(json.dumps(astuple(left)).encode()).decode())

    def find(self, state: str) -> Departed | None:
        """Who left with this state; None if nobody did, it was used, or it took too long."""
        try:
            left = Departed(*json.loads(self._seal.decrypt(state.encode("utf-8", "surrogatepass"))))
        except InvalidToken:
            return None
        return left if self._clock() < left.until and left.nonce not in self._used else None

    def use(self, left: Departed) -> None:
        """Use it up."""
        now = self._clock()
        self._used = {nonce: until for nonce, until in self._used.items() if now < until}
        self._used[left.nonce] = left.until
        while len(self._used) > _MOST_USED:
            del self._used[next(iter(self._used))]


_MOST_USED: Final = 10_000


class ConsentDenied(AccountError):
    """The person said no at the service."""


def read_code(departure: AuthorizationRequest, url: URL) -> str:
    """The code that a browser brought back. `ConsentDenied`, or AccountError if it does not match the request."""
    came = QueryParams(url.query)
    if any(len(came.getlist(name)) > 1 for name in ("state", "code", "iss", "error")):
        raise AccountError("a browser came back with a parameter twice")
    if not hmac.compare_digest(came.get("state", "").encode(), departure.state.encode()):
        raise AccountError("a browser came back with another state")
    if _last(url) != _last(URL(departure.redirect_uri)):
        raise AccountError("a browser came back to another server's address")
    _require_issuer(departure.server, came.get("iss"))
    if (error := came.get("error")) is not None:
        raise (ConsentDenied if error == "access_denied" else AccountError)(
            f"the service answered {error[:60]!r}"
        )
    if not (code := came.get("code")):
        raise AccountError("a browser came back without a code")
    return code


def _last(url: URL) -> str:
    """The last part of a redirect path. A proxy may have removed the parts before it."""
    return url.path.rpartition("/")[2]


def _require_issuer(server: Metadata, named: str | None) -> None:
    """RFC 9207, section 2.4: the answer must come from the issuer that was asked."""
    if named is None and not server.names_itself:
        return
    if (
        named is None
        or server.issuer is None
        or not hmac.compare_digest(named.encode(), server.issuer.encode())
    ):
        raise AccountError(f"asked {server.issuer!r}, and {named!r} answered; an account needs its issuer=")


_SKEW: Final = 60


async def read_person(
    grant: Grant, departure: AuthorizationRequest, client_id: str, reach: AllowedAddresses = ANYWHERE
) -> Person:
    """The person in the ID token for this request (OpenID Connect Core, 3.1.3.7)."""
    server = departure.server
    if grant.id_token is None or server.jwks_uri is None:
        raise AccountError("the authorization server does not say who signed in: it needs OpenID Connect")
    published = await fetch(server.jwks_uri, reach)
    try:
        written = grant.id_token.reveal()
        keys = verifying_keys(published, extract_compact(written.encode()).headers().get("alg"))
        token = jwt.decode(written, KeySet.import_key_set({"keys": keys}), algorithms=list(ALGORITHMS))
        claims = CodeIDToken(
            token.claims,
            token.header,
            {
                "iss": {"essential": True, "value": server.issuer},
                "aud": {"essential": True, "value": client_id},
                "sub": {"essential": True},
            },
            {
                "nonce": departure.nonce,
                "client_id": client_id,
                "access_token": grant.access_token.reveal(),
            },
        )
        claims.validate(leeway=_SKEW)
    except (JoseError, ValueError, KeyError) as error:
        raise AccountError(f"an ID token is not to be believed: {type(error).__name__}") from None
    return Person(str(claims["iss"]), str(claims["sub"]), "token")


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
