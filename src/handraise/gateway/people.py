"""Find the person of a token: from a file of people, or from the claims of an issuer's token."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit, urlunsplit

import jwt

from handraise.disk import replace_file
from handraise.errors import AccountError, SetupError
from handraise.issuers import PUBLIC, AllowedAddresses, fetch, verifying_keys
from handraise.questions import Person


class Tokens(Protocol):
    """Finds people by the bearer tokens of their clients."""

    async def person(self, token: str) -> Person | None:
        """The person; None when the token is unknown, expired, or for another audience."""
        ...


ISSUER: Final = "handraise:people"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_MOST_BYTES: Final = 1024 * 1024


class PeopleFile:
    """Reads and changes the file of people. A removed person loses access at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_at: tuple[int, int] | None = None
        self._names: Mapping[str, str] = {}
        self._key = b""

    async def person(self, token: str) -> Person | None:
        self._refresh()
        name = self._names.get(_hash(token))
        return None if name is None else person_named(name)

    @property
    def key(self) -> bytes:
        """The key that signs sign-in links."""
        self._refresh()
        return self._key

    def has(self, name: str) -> bool:
        """Whether a person of that name is in the file."""
        self._refresh()
        return name in self._names.values()

    def has_person(self, person: Person) -> bool:
        """Whether the file still has this person; False when it cannot be read."""
        try:
            return person == person_named(person.subject) and self.has(person.subject)
        except SetupError:
            return False

    def require(self, name: str) -> None:
        """SetupError, with the known names, when nobody has that name."""
        if not self.has(name):
            known = ", ".join(sorted(self._names.values()))
            there = f"there is {known}" if known else "there is nobody in it yet"
            raise SetupError(f"{self._path}: nobody in it is called {name!r}; {there}")

    def add(self, name: str) -> str:
        """A new token for a new or known person. An old token stops working. The file keeps only the hash."""
        if not _NAME.fullmatch(name):
            raise SetupError("a name has only letters, digits and . _ @ -, at most 64 in all")
        held: dict[str, Any] = {"key": secrets.token_hex(32), "people": {}}
        if self._path.exists():
            held = self._load()
        token = "hr_" + secrets.token_urlsafe(32)
        self._save(held | {"people": held["people"] | {name: _hash(token)}})
        return token

    def remove(self, name: str) -> None:
        """Remove a person."""
        self.require(name)
        held = self._load()
        self._save(held | {"people": {each: known for each, known in held["people"].items() if each != name}})

    def _refresh(self) -> None:
        try:
            status = self._path.stat()
        except OSError as error:
            raise self._unread(error) from None
        if self._read_at != (status.st_mtime_ns, status.st_ino):
            held = self._load()
            self._names = {known: name for name, known in held["people"].items()}
            self._key = bytes.fromhex(held["key"])
            self._read_at = (status.st_mtime_ns, status.st_ino)

    def _load(self) -> dict[str, Any]:
        try:
            if os.name == "posix" and self._path.stat().st_mode & 0o077:
                raise SetupError(f"{self._path}: others can read it; make it yours with: chmod 600")
            held = json.loads(self._path.read_bytes()[:_MOST_BYTES])
        except OSError as error:
            raise self._unread(error) from None
        except ValueError:
            held = None
        if not _is_whole(held):
            raise SetupError(
                f"{self._path}: this is not a file of people; make one with `handraise gateway people add`"
            )
        return dict(held)

    def _unread(self, error: OSError) -> SetupError:
        if not isinstance(error, FileNotFoundError):
            return SetupError(f"{self._path}: {error.strerror}")
        adding = f"handraise gateway people add NAME --file {self._path}"
        return SetupError(f"{self._path}: there is no such file; adding somebody makes it: {adding}")

    def _save(self, held: Mapping[str, Any]) -> None:
        try:
            replace_file(self._path, json.dumps(held, indent=2))
        except OSError as error:
            raise SetupError(f"{self._path} cannot be written: {error.strerror}") from None


def person_named(name: str) -> Person:
    """The person with that name in a file of people."""
    return Person(ISSUER, name, "token")


def _is_whole(held: object) -> bool:
    match held:
        case {"key": str(key), "people": dict(people)}:
            hashes = all(isinstance(name, str) and isinstance(known, str) for name, known in people.items())
            return hashes and re.fullmatch(r"[0-9a-f]{64}", key) is not None
        case _:
            return False


def _hash(token: str) -> str:
    """One hash is enough for 256 random bits. Looking up a hash leaks nothing by its timing."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


logger = logging.getLogger(__name__)

_SKEW: Final = 60
_FRESH: Final = 3600.0
_PATIENCE: Final = 60.0
"""Seconds between two fetches of the keys because of tokens with an unknown key."""


class IssuedTokens:
    """Finds people by JSON Web Tokens of one issuer. Tokens for another audience are refused."""

    def __init__(
        self,
        issuer: str,
        audience: str,
        reach: AllowedAddresses = PUBLIC,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.issuer = issuer
        self._audience = audience
        self._reach = reach
        self._clock = clock
        self._keys: dict[str, Any] = {}
        """The published key set."""
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
        """The key of a token. Nobody with a known key waits for the issuer because of somebody else's unknown one."""
        if self._needs_look(kid, algorithm):
            async with self._looking:
                if self._needs_look(kid, algorithm):
                    self._looked = self._clock()
                    self._keys = await self._published()
        return self._find(kid, algorithm)

    def _needs_look(self, kid: object, algorithm: object) -> bool:
        waited = self._clock() - self._looked
        return waited >= (_PATIENCE if self._find(kid, algorithm) is None else _FRESH)

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
    """The URLs of an issuer's metadata: RFC 8414, section 3.1, and OpenID Connect Discovery."""
    parts = urlsplit(issuer)
    path = "/.well-known/oauth-authorization-server" + parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path)), f"{issuer.rstrip('/')}/.well-known/openid-configuration"
