"""Where an authorization server's parts are: what it publishes about itself, checked before it is believed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from authlib.oauth2.rfc8414 import get_well_known_url

from handraise.errors import AccountError, SetupError
from handraise.issuers.reach import ANYWHERE, Reach, is_this_computer, require_private_way
from handraise.issuers.wire import NotThere, fetch
from handraise.pages.oauth.registration import Registration

_FRESH: Final = 3600.0
_MOST_SCOPES: Final = 100
_ENDPOINTS: Final = (
    "authorization_endpoint",
    "token_endpoint",
    "revocation_endpoint",
    "jwks_uri",
    "registration_endpoint",
)


class AnotherIssuer(AccountError):
    """Who publishes there is not who was looked for."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """An authorization server."""

    issuer: str | None
    authorization_endpoint: str
    token_endpoint: str
    revocation_endpoint: str | None = None
    jwks_uri: str | None = None
    token_auth_methods: tuple[str, ...] = ("client_secret_basic",)
    names_itself: bool = False
    """Whether it says who it is whenever it sends a browser back (RFC 9207)."""
    registration_endpoint: str | None = None
    publishes_pkce: bool = False
    """Whether it says itself that it has PKCE with S256."""
    scopes: tuple[str, ...] = ()
    """What may be asked for there, as far as it says."""


_known: dict[tuple[str, Reach], tuple[float, Metadata]] = {}
"""What servers published, by issuer and by where it may have been fetched from."""
_MOST_KNOWN: Final = 200


async def find_server(registration: Registration, clock: Callable[[], float] = time.monotonic) -> Metadata:
    """The authorization server of a registration."""
    if (given := registration.endpoints) is not None:
        return Metadata(registration.issuer, given.authorization, given.token, given.revocation)
    assert registration.issuer is not None
    return await find_issuer(registration.issuer, registration.reach, clock)


async def find_issuer(
    issuer: str, reach: Reach = ANYWHERE, clock: Callable[[], float] = time.monotonic
) -> Metadata:
    """The authorization server that an issuer is."""
    until, known = _known.get((issuer, reach), (0.0, None))
    if known is None or clock() >= until:
        known = parse_metadata(issuer, await _published(issuer, reach))
        while len(_known) >= _MOST_KNOWN:
            del _known[next(iter(_known))]
        _known[issuer, reach] = clock() + _FRESH, known
    return known


def parse_metadata(issuer: str, published: dict[str, Any]) -> Metadata:
    """What a server publishes. AccountError unless it is the issuer's own (RFC 8414, section 3.3) and has PKCE.

    Every endpoint is read strictly and is reached by https; only an issuer on this computer may have endpoints here.
    RFC 8414 lets endpoints be on other hosts than the issuer, and large providers do that. So that is no error: the
    person is shown the host of the authorization endpoint, because that is the site which asks for their password.
    """
    if published.get("issuer") != issuer:
        raise AnotherIssuer(f"{issuer} publishes as another issuer: {published.get('issuer')!r}")
    endpoints: dict[str, str | None] = {}
    for name in _ENDPOINTS:
        value = published.get(name)
        try:
            endpoints[name] = None if value is None else require_private_way(value)
        except SetupError as error:
            raise AccountError(f"{issuer}: {name}: {error}") from None
        if is_this_computer(endpoints[name] or "") and not is_this_computer(issuer):
            raise AccountError(f"{issuer}: {name}: a server elsewhere has no endpoint on this computer")
    authorization, token = endpoints["authorization_endpoint"], endpoints["token_endpoint"]
    if authorization is None or token is None:
        raise AccountError(f"{issuer} does not publish where people and servers go")
    methods = _words(published, "code_challenge_methods_supported")
    if methods is not None and "S256" not in methods:
        raise AccountError(f"{issuer} has no PKCE with S256, without which a stolen code could be used")
    return Metadata(
        issuer,
        authorization,
        token,
        endpoints["revocation_endpoint"],
        endpoints["jwks_uri"],
        _words(published, "token_endpoint_auth_methods_supported") or ("client_secret_basic",),
        published.get("authorization_response_iss_parameter_supported") is True,
        endpoints["registration_endpoint"],
        methods is not None,
        (_words(published, "scopes_supported") or ())[:_MOST_SCOPES],
    )


def _words(published: dict[str, Any], name: str) -> tuple[str, ...] | None:
    """A list of words that a server publishes; None where it says nothing of the kind."""
    given = published.get(name)
    return tuple(map(str, given)) if isinstance(given, list) else None


async def _published(issuer: str, reach: Reach) -> dict[str, Any]:
    """The server's own document, by RFC 8414 or by OpenID Connect Discovery."""
    try:
        require_private_way(issuer)
    except SetupError as error:
        raise AccountError(str(error)) from None
    if "?" in issuer:
        raise AccountError(f"an issuer has no query (RFC 8414, section 2): {issuer}")
    try:
        return await fetch(get_well_known_url(issuer, external=True), reach)
    except NotThere:
        return await fetch(f"{issuer.rstrip('/')}/.well-known/openid-configuration", reach)
