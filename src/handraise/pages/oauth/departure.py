"""A browser that goes to an authorization server, and what it must come back with.

The attacks by name: cross-site request forgery and a swapped `state` (it is random, used once, and counts in the
browser that left only), mix-up of servers (`iss`, and a redirect address for each), code injection (PKCE).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from starlette.datastructures import URL, QueryParams

from handraise.errors import AccountError
from handraise.pages.oauth.discovery import Metadata


@dataclass(frozen=True, slots=True)
class Departure:
    """One way to an authorization server and back."""

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
        """Whether it was this browser that left."""
        return hmac.compare_digest(self.browser, browser)


class Denied(AccountError):
    """The person said no at the service."""


def read_code(departure: Departure, url: URL) -> str:
    """The code with which a browser came back. `Denied`, or AccountError unless it comes from where it was sent."""
    came = QueryParams(url.query)
    if any(len(came.getlist(name)) > 1 for name in ("state", "code", "iss", "error")):
        raise AccountError("a browser came back with a parameter twice")
    if not hmac.compare_digest(came.get("state", "").encode(), departure.state.encode()):
        raise AccountError("a browser came back with another state")
    if _last(url) != _last(URL(departure.redirect_uri)):
        raise AccountError("a browser came back to another server's address")
    _require_issuer(departure.server, came.get("iss"))
    if (error := came.get("error")) is not None:
        raise (Denied if error == "access_denied" else AccountError)(f"the service answered {error[:60]!r}")
    if not (code := came.get("code")):
        raise AccountError("a browser came back without a code")
    return code


def _last(url: URL) -> str:
    """Which server an address is for. What stands before it, a proxy may have cut off."""
    return url.path.rpartition("/")[2]


def _require_issuer(server: Metadata, named: str | None) -> None:
    """RFC 9207, section 2.4: who answers must be who was asked."""
    if named is None and not server.names_itself:
        return
    if (
        named is None
        or server.issuer is None
        or not hmac.compare_digest(named.encode(), server.issuer.encode())
    ):
        raise AccountError(f"asked {server.issuer!r}, and {named!r} answered; an account needs its issuer=")
