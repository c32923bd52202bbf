"""The people of a small team, in a file: the hash of a token for each, and the key for their sign-in links.

A token is what a person's client has. It does not open the desk: whoever reads the client's configuration, as a model
with a shell can, has the token, too.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from handraise.disk import replace_file
from handraise.errors import SetupError
from handraise.questions import Person

ISSUER: Final = "handraise:people"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_MOST_BYTES: Final = 1024 * 1024


class PeopleFile:
    """Reads and changes the file. Whoever is taken out of it is let in no more, at once."""

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
        """What sign-in links are signed with."""
        self._refresh()
        return self._key

    def has(self, name: str) -> bool:
        """Whether somebody of that name is in it."""
        self._refresh()
        return name in self._names.values()

    def require(self, name: str) -> None:
        """SetupError, with those who are in it, when nobody has that name."""
        if not self.has(name):
            known = ", ".join(sorted(self._names.values()))
            there = f"there is {known}" if known else "there is nobody in it yet"
            raise SetupError(f"{self._path}: nobody in it is called {name!r}; {there}")

    def add(self, name: str) -> str:
        """A new token for a person, who may be new as well; the one before works no more. Only its hash is kept."""
        if not _NAME.fullmatch(name):
            raise SetupError("a name has letters, digits and . _ @ - only, and 64 of them at most")
        held: dict[str, Any] = {"key": secrets.token_hex(32), "people": {}}
        if self._path.exists():
            held = self._load()
        token = "hr_" + secrets.token_urlsafe(32)
        self._save(held | {"people": held["people"] | {name: _hash(token)}})
        return token

    def remove(self, name: str) -> None:
        """Let somebody in no more."""
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
                f"{self._path}: this is no file of people; make one with `handraise gateway people add`"
            )
        return dict(held)

    def _unread(self, error: OSError) -> SetupError:
        if not isinstance(error, FileNotFoundError):
            return SetupError(f"{self._path}: {error.strerror}")
        adding = f"handraise gateway people add NAME --file {self._path}"
        return SetupError(f"{self._path}: there is no such file; adding somebody makes it: {adding}")

    def _save(self, held: Mapping[str, Any]) -> None:
        replace_file(self._path, json.dumps(held, indent=2))


def person_named(name: str) -> Person:
    """The person with that name in the file."""
    return Person(ISSUER, name, "token")


def _is_whole(held: object) -> bool:
    match held:
        case {"key": str(key), "people": dict(people)}:
            hashes = all(isinstance(name, str) and isinstance(known, str) for name, known in people.items())
            return hashes and re.fullmatch(r"[0-9a-f]{64}", key) is not None
        case _:
            return False


def _hash(token: str) -> str:
    """Enough for 256 random bits; and what is looked up tells nothing by the time that it takes."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
