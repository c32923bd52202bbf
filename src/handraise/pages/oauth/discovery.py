"""A server's registration at an authorization server, and that server's endpoints, checked before use."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from authlib.oauth2.rfc8414 import get_well_known_url

from handraise.errors import AccountError, SetupError
from handraise.issuers import (
    ANYWHERE,
    AllowedAddresses,
    NotThere,
    fetch,
    host_of,
    is_this_computer,
    require_secure_url,
    shortened,
    site_of,
)
from handraise.vault import Secret


@dataclass(frozen=True, slots=True)
class FromVariable:
    """A client secret in an environment variable, where `handraise vault forget` finds it too."""

    name: str

    def reveal(self, environment: Mapping[str, str] = os.environ) -> str:
        """The secret itself. SetupError when the variable is not set."""
        if not (value := environment.get(self.name)):
            raise SetupError(f"The client secret is expected in the variable {self.name}, which is not set.")
        return value


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Addresses of an authorization server that does not publish them."""

    authorization: str
    token: str
    revocation: str | None = None

    def __post_init__(self) -> None:
        for url in (self.authorization, self.token, self.revocation):
            if url is not None:
                require_secure_url(url)


@dataclass(frozen=True, slots=True)
class Registration:
    """This server as a client of one authorization server, which is found by its `issuer` or by `endpoints`."""

    client_id: str
    client_secret: Secret | FromVariable | None = field(default=None, repr=False)
    issuer: str | None = None
    endpoints: Endpoints | None = None
    resource: str | None = None
    """The resource of its tokens (RFC 8707), if needed."""
    reach: AllowedAddresses = field(default=ANYWHERE, repr=False)

    def __post_init__(self) -> None:
        if not self.client_id:
            raise SetupError("an authorization server knows this server by a client_id; give it one")
        if self.issuer is None and self.endpoints is None:
            raise SetupError("say where the authorization server is: by issuer=, or by endpoints=")
        if self.issuer is not None:
            require_secure_url(self.issuer)

    @property
    def indicator(self) -> dict[str, str]:
        """The `resource` parameter."""
        return {} if self.resource is None else {"resource": self.resource}

    @property
    def host(self) -> str:
        """The host of the service for people. They may be sent to another host: see `Metadata`."""
        return host_of(str(self.endpoints.authorization if self.endpoints else self.issuer))


def hidden(secret: Secret | FromVariable | str | None) -> Secret | FromVariable | None:
    """A client secret that no text shows, in any of its forms."""
    return Secret(secret) if isinstance(secret, str) else secret


_FRESH: Final = 3600.0
_MOST_SCOPES: Final = 100
_ENDPOINTS: Final = (
    "authorization_endpoint",
    "token_endpoint",
    "revocation_endpoint",
    "jwks_uri",
    "registration_endpoint",
)


OWN_PARAMETERS: Final = frozenset(
    {
        "response_type",
        "client_id",
        "redirect_uri",
        "scope",
        "state",
        "nonce",
        "code_challenge",
        "code_challenge_method",
        "resource",
    }
)
"""The parameters of an authorization request that only we set. A second one of the same name might count instead."""


class AnotherIssuer(AccountError):
    """The metadata names another issuer."""


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
    """Whether it sends its `iss` with every redirect (RFC 9207)."""
    registration_endpoint: str | None = None
    publishes_pkce: bool = False
    """Whether its metadata lists PKCE with S256."""
    scopes: tuple[str, ...] = ()
    """The scopes that the server lists."""


_known: dict[tuple[str, AllowedAddresses], tuple[float, Metadata]] = {}
"""Published metadata, by issuer and by the addresses it may be fetched from."""
_MOST_KNOWN: Final = 200


async def find_server(registration: Registration) -> Metadata:
    """The authorization server of a registration."""
    if (given := registration.endpoints) is not None:
        return Metadata(registration.issuer, given.authorization, given.token, given.revocation)
    assert registration.issuer is not None
    return await find_issuer(registration.issuer, registration.reach)


async def find_issuer(issuer: str, reach: AllowedAddresses) -> Metadata:
    """The authorization server of an issuer."""
    until, known = _known.get((issuer, reach), (0.0, None))
    if known is None or time.monotonic() >= until:
        known = parse_metadata(issuer, await _published(issuer, reach))
        while len(_known) >= _MOST_KNOWN:
            del _known[next(iter(_known))]
        _known[issuer, reach] = time.monotonic() + _FRESH, known
    return known


def parse_metadata(issuer: str, published: dict[str, Any]) -> Metadata:
    """Read a server's metadata. AccountError unless it is the issuer's own (RFC 8414, section 3.3) and has PKCE.

    Every endpoint is parsed strictly and uses https. Only an issuer on this computer may have endpoints here.
    RFC 8414 lets endpoints be on other hosts than the issuer, and large providers do that. So that is no error: the
    person is shown the host of the authorization endpoint, because that is the site which asks for their password.

    The attack (mix-up, RFC 9700, section 4.4): a server sends people to another one's authorization endpoint, and gets
    the code at its own token endpoint. So a server whose two endpoints are on different sites has the first one on the
    issuer's site, or says in its answers who it is.
    """
    if published.get("issuer") != issuer:
        raise AnotherIssuer(f"{issuer} publishes as another issuer: {shortened(published.get('issuer'))}")
    endpoints: dict[str, str | None] = {}
    for name in _ENDPOINTS:
        value = published.get(name)
        try:
            endpoints[name] = None if value is None else require_secure_url(value)
        except SetupError as error:
            raise AccountError(f"{issuer}: {name}: {error}") from None
        if is_this_computer(endpoints[name] or "") and not is_this_computer(issuer):
            raise AccountError(f"{issuer}: {name}: a server elsewhere has no endpoint on this computer")
    authorization, token = endpoints["authorization_endpoint"], endpoints["token_endpoint"]
    if authorization is None or token is None:
        raise AccountError(f"{issuer} does not publish where people and servers go")
    names_itself = published.get("authorization_response_iss_parameter_supported") is True
    if not names_itself and site_of(authorization) not in (site_of(issuer), site_of(token)):
        raise AccountError(
            f"{issuer} sends people to {host_of(authorization)}, takes what comes of it at {host_of(token)}, and does "
            "not say in its answers who it is"
        )
    if taken := OWN_PARAMETERS & parse_qs(urlsplit(authorization).query, keep_blank_values=True).keys():
        raise AccountError(f"{issuer}: authorization_endpoint sets {', '.join(sorted(taken))} itself")
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
        names_itself,
        endpoints["registration_endpoint"],
        methods is not None,
        (_words(published, "scopes_supported") or ())[:_MOST_SCOPES],
    )


def _words(published: dict[str, Any], name: str) -> tuple[str, ...] | None:
    """A published list of strings; None if it is missing or not a list."""
    given = published.get(name)
    return tuple(map(str, given)) if isinstance(given, list) else None


async def _published(issuer: str, reach: AllowedAddresses) -> dict[str, Any]:
    """The server's own document, by RFC 8414 or by OpenID Connect Discovery."""
    try:
        require_secure_url(issuer)
    except SetupError as error:
        raise AccountError(str(error)) from None
    if "?" in issuer:
        raise AccountError(f"an issuer has no query (RFC 8414, section 2): {issuer}")
    try:
        return await fetch(get_well_known_url(issuer, external=True), reach)
    except NotThere:
        return await fetch(f"{issuer.rstrip('/')}/.well-known/openid-configuration", reach)
