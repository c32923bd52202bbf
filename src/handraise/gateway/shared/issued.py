"""Tokens that an authorization server issued: signed by it, for this gateway, and not over."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import jwt

from handraise.errors import AccountError
from handraise.issuers.reach import PUBLIC, Reach
from handraise.issuers.signatures import verifying_keys
from handraise.issuers.wire import fetch
from handraise.questions import Person

logger = logging.getLogger(__name__)

_SKEW: Final = 60
_FRESH: Final = 3600.0
_PATIENCE: Final = 60.0
"""Seconds between two looks at the keys because of a token that none of them signed."""


class IssuedTokens:
    """Tells people by JSON Web Tokens of one issuer. `audience` is this gateway: tokens for others are refused."""

    def __init__(
        self,
        issuer: str,
        audience: str,
        reach: Reach = PUBLIC,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.issuer = issuer
        self._audience = audience
        self._reach = reach
        self._clock = clock
        self._keys: dict[str, Any] = {}
        """The key set, as it was published."""
        self._looked = float("-inf")
        self._looking = asyncio.Lock()

    async def person(self, token: str) -> Person | None:
        try:
            header = jwt.get_unverified_header(token)
            key = await self._key(header.get("kid"), header.get("alg"))
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=self._audience,
                issuer=self.issuer,
                leeway=_SKEW,
                options={"require": ["exp", "iss", "aud", "sub"], "strict_aud": False},
            )
        except (jwt.PyJWTError, AccountError) as error:
            logger.info("a token was refused: %s", type(error).__name__)
            return None
        return Person(self.issuer, str(claims["sub"]), "token") if claims["sub"] else None

    async def _key(self, kid: object, algorithm: object) -> jwt.PyJWK | None:
        async with self._looking:
            found = self._find(kid, algorithm)
            waited = self._clock() - self._looked
            if (found is None and waited >= _PATIENCE) or waited >= _FRESH:
                self._looked = self._clock()
                self._keys = await self._published()
                found = self._find(kid, algorithm)
            return found

    def _find(self, kid: object, algorithm: object) -> jwt.PyJWK | None:
        known = (key for key in verifying_keys(self._keys, algorithm) if key.get("kid") == kid)
        key = next(known, None)
        return None if key is None else jwt.PyJWK(key, str(algorithm))

    async def _published(self) -> dict[str, Any]:
        for place in _documents(self.issuer):
            try:
                told = await fetch(place, self._reach)
            except AccountError:
                continue
            if told.get("issuer") != self.issuer:
                raise AccountError(f"{self.issuer} publishes as another issuer")
            return await fetch(told.get("jwks_uri"), self._reach)
        raise AccountError(f"{self.issuer} does not publish where its keys are")


def _documents(issuer: str) -> tuple[str, str]:
    """Where an issuer publishes about itself: by RFC 8414, section 3.1, or by OpenID Connect Discovery."""
    parts = urlsplit(issuer)
    path = "/.well-known/oauth-authorization-server" + parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path)), f"{issuer.rstrip('/')}/.well-known/openid-configuration"
