"""Sign-in links for the desk, made by whoever runs the gateway: for one person, once, for ten minutes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from typing import Final

from handraise.gateway.shared.people_file import PeopleFile, person_named
from handraise.questions import Person

LIFE: Final = 600.0


def make_invitation(people: PeopleFile, name: str, now: float, *, passkey: bool = False) -> str:
    """The word at the end of a person's link; with `passkey` they add one with it."""
    purpose = "passkey" if passkey else "desk"
    told = f"{name}\n{now:.3f}\n{secrets.token_hex(16)}\n{purpose}".encode()
    return base64.urlsafe_b64encode(_signature(people.key, told) + told).decode().rstrip("=")


class Invitations:
    """Reads the links. Each works once; one that is older than this process may have been used, and works no more."""

    def __init__(self, people: PeopleFile, now: Callable[[], float] = time.time) -> None:
        self._people = people
        self._now = now
        self._since = now()
        self._used: dict[str, tuple[str, float]] = {}

    def admit(self, word: str, invite: Callable[[Person, bool], str]) -> str | None:
        """The ticket for a link, always the same one: looking twice makes no second. None when the link is no good.

        `invite` makes one for a person, and hears whether the link lets them add a passkey.
        """
        self._used = {each: used for each, used in self._used.items() if used[1] > self._now()}
        if word in self._used:
            return self._used[word][0]
        read = self._read(word)
        if read is None:
            return None
        name, made, passkey = read
        self._used[word] = (invite(person_named(name), passkey), made + LIFE)
        return self._used[word][0]

    def _read(self, word: str) -> tuple[str, float, bool] | None:
        try:
            raw = base64.urlsafe_b64decode(word + "=" * (-len(word) % 4))
            canonical = base64.urlsafe_b64encode(raw).decode().rstrip("=") == word
        except ValueError:
            return None
        signature, told = raw[:32], raw[32:]
        if not canonical or not hmac.compare_digest(signature, _signature(self._people.key, told)):
            return None
        name, made, _, purpose = told.decode().split("\n")
        fresh = self._since <= float(made) <= self._now() < float(made) + LIFE
        return (name, float(made), purpose == "passkey") if fresh and self._people.has(name) else None


def _signature(key: bytes, told: bytes) -> bytes:
    return hmac.digest(key, b"handraise desk invitation\n" + told, hashlib.sha256)
