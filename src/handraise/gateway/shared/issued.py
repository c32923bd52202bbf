"""Tokens that an authorization server issued: signed by it, for this gateway, and not over."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import jwt

from handraise.errors import SetupError
from handraise.questions import Person

logger = logging.getLogger(__name__)

_ALGORITHMS: Final = [
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
]
"""Signatures that only the issuer can make: no `none`, and none with a secret that two parties have."""
_SKEW: Final = 60
_FRESH: Final = 3600.0
_PATIENCE: Final = 60.0
"""Seconds between two looks at the keys because of a token that none of them signed."""
_MOST_BYTES: Final = 1024 * 1024
_WELL_KNOWN: Final = (".well-known/oauth-authorization-server", ".well-known/openid-configuration")

Fetch = Callable[[str], Awaitable[dict[str, Any]]]


class IssuedTokens:
    """Tells people by JSON Web Tokens of one issuer. `audience` is this gateway: tokens for others are refused."""

    def __init__(
        self,
        issuer: str,
        audience: str,
        fetch: Fetch | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.issuer = issuer
        self._audience = audience
        self._fetch = fetch or fetch_public
        self._clock = clock
        self._keys: jwt.PyJWKSet | None = None
        self._looked = float("-inf")
        self._looking = asyncio.Lock()

    async def person(self, token: str) -> Person | None:
        try:
            key = await self._key(jwt.get_unverified_header(token).get("kid"))
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                audience=self._audience,
                issuer=self.issuer,
                leeway=_SKEW,
                options={"require": ["exp", "iss", "aud", "sub"], "strict_aud": False},
            )
        except (jwt.PyJWTError, SetupError) as error:
            logger.info("a token was refused: %s", type(error).__name__)
            return None
        return Person(self.issuer, str(claims["sub"]), "token") if claims["sub"] else None

    async def _key(self, kid: object) -> jwt.PyJWK | None:
        async with self._looking:
            found = self._find(kid)
            waited = self._clock() - self._looked
            if (found is None and waited >= _PATIENCE) or waited >= _FRESH:
                self._looked = self._clock()
                self._keys = jwt.PyJWKSet.from_dict(await self._published())
                found = self._find(kid)
            return found

    def _find(self, kid: object) -> jwt.PyJWK | None:
        return next((key for key in (self._keys.keys if self._keys else ()) if key.key_id == kid), None)

    async def _published(self) -> dict[str, Any]:
        for place in _WELL_KNOWN:
            try:
                told = await self._fetch(f"{self.issuer.rstrip('/')}/{place}")
            except SetupError:
                continue
            if told.get("issuer") != self.issuer:
                raise SetupError(f"{self.issuer} publishes as another issuer")
            return await self._fetch(str(told.get("jwks_uri", "")))
        raise SetupError(f"{self.issuer} does not publish where its keys are")


async def fetch_public(url: str) -> dict[str, Any]:
    """A JSON object from a public place: https, no redirects, and no address inside anybody's own network.

    The attack: an address that an outsider chose has the gateway call what only it can reach.
    """
    import httpx2

    await require_public(url)
    try:
        async with httpx2.AsyncClient(timeout=10.0, follow_redirects=False, trust_env=False) as client:
            reply = await client.get(url, headers={"accept": "application/json"})
    except httpx2.HTTPError as error:
        raise SetupError(f"{url} cannot be reached: {type(error).__name__}") from None
    if reply.status_code != 200 or len(reply.content) > _MOST_BYTES:
        raise SetupError(f"{url} answered with HTTP status {reply.status_code}")
    try:
        told = json.loads(reply.content)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise SetupError(f"{url} did not answer with a JSON object")
    return told


async def require_public(url: str) -> None:
    """SetupError unless a URL is https and every address of its host is a public one."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or parts.username is not None:
        raise SetupError(f"{url!r} is no https address")
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            parts.hostname, parts.port or 443, type=socket.SOCK_STREAM
        )
    except OSError:
        raise SetupError(f"{parts.hostname} is not known") from None
    for *_, address in found:
        if not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_global:
            raise SetupError(
                f"{parts.hostname} is inside a private network, where a shared gateway does not go"
            )
