"""The vault: keep, find, forget and re-wrap the secrets of people.

Each secret is a row of a store: its contents are sealed by a data key of its own, which a key of the vault wraps.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, Protocol

from handraise.disk import Leftover
from handraise.errors import SetupError, StoreError
from handraise.vault.keys import MIN_KEY, KeySource, new_key

if TYPE_CHECKING:
    from handraise.questions import Person


class SealedSecret(NamedTuple):
    """One row. Its contents need the vault's key, and every other column is authenticated with them."""

    row: str
    """Random."""
    owner: str
    """The person's key."""
    service: str
    wrapped: bytes
    """The row's own data key, wrapped by the vault's."""
    sealed: bytes
    """The contents, sealed by the data key."""
    kept_at: float
    until: float | None
    """When it expires, in seconds since the epoch."""


class SecretInfo(NamedTuple):
    """A kept secret without its contents, for lists."""

    owner: str
    service: str
    kept_at: float
    until: float | None


class SecretTable(Protocol):
    """The table of sealed secrets: one for each service and owner. Every method is atomic."""

    async def put(self, secret: SealedSecret) -> None:
        """Keep it, in place of what the same owner had for the same service."""
        ...

    async def find(self, owner: str, service: str) -> SealedSecret | None:
        """The owner's own, or None."""
        ...

    async def all(self, owner: str | None = None) -> list[SealedSecret]:
        """Everybody's or one owner's, by owner and service."""
        ...

    async def remove(self, owner: str, service: str) -> bool:
        """Forget it; False when there was none."""
        ...

    async def purge(self) -> Leftover | None:
        """Remove deleted, replaced and re-wrapped data from the disk; returns what cannot be removed yet."""
        ...

    async def rewrap(self, row: str, *, was: bytes, wrapped: bytes) -> bool:
        """Give the row another wrapped key; False when it is gone, or another wrapped it meanwhile."""
        ...


_HIDDEN: Final = "Secret(•••)"


class Secret:
    """A person's entry on a page. `.reveal()` is the one way to read it.

    Its text form hides it, so that it cannot leave in a log line, an f-string, an error or a tool's result by
    mistake. It cannot be pickled or written as JSON.
    """

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        self.__value = value

    def reveal(self) -> str:
        """The secret itself. Hand it to what needs it and keep it nowhere."""
        return self.__value

    def __repr__(self) -> str:
        return _HIDDEN

    def __format__(self, spec: str) -> str:
        return _HIDDEN

    # No `__hash__`, on purpose: it would reveal which secrets are equal.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self.__value.encode(), other.__value.encode())

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a Secret is not written down; reveal() it where it is needed")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a Secret is not written down; reveal() it where it is needed")


_NONCE = 12
_NAME = 4


class KeyRing:
    """The vault's keys. The first one wraps, any opens."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) < MIN_KEY for key in keys):
            raise SetupError(
                f"A key of the vault needs at least {MIN_KEY} random bytes. Make one with: handraise vault new-key"
            )
        self._keys = {_name(key): _derived(key) for key in reversed(keys)}
        self._first = _name(keys[0])

    def seal(self, secret: SealedSecret, plain: bytes) -> SealedSecret:
        """The row with its contents sealed by a fresh data key, and that key wrapped."""
        data_key = os.urandom(MIN_KEY)
        sealed = _encrypt(data_key, plain, _place("contents", secret))
        return secret._replace(wrapped=self._wrap(data_key, secret), sealed=sealed)

    def open(self, secret: SealedSecret) -> bytes:
        """The contents. StoreError when anything was changed, moved, or wrapped by a key that is not here."""
        return _decrypt(self._unwrap(secret), secret.sealed, _place("contents", secret))

    def knows(self, secret: SealedSecret) -> bool:
        """Whether one of the keys wrapped it."""
        return secret.wrapped[:_NAME] in self._keys

    def rewrap(self, secret: SealedSecret) -> bytes | None:
        """The data key wrapped by the first key; None when it is already."""
        if secret.wrapped[:_NAME] == self._first:
            return None
        return self._wrap(self._unwrap(secret), secret)

    def _wrap(self, data_key: bytes, secret: SealedSecret) -> bytes:
        return self._first + _encrypt(self._keys[self._first], data_key, _place("key", secret))

    def _unwrap(self, secret: SealedSecret) -> bytes:
        key = self._keys.get(secret.wrapped[:_NAME])
        if key is None:
            raise StoreError("a secret is wrapped by a key that the vault does not have")
        return _decrypt(key, secret.wrapped[_NAME:], _place("key", secret))


def _name(key: bytes) -> bytes:
    return hashlib.sha256(b"handraise/vault/name" + key).digest()[:_NAME]


def _derived(key: bytes) -> bytes:
    return hashlib.sha256(b"handraise/vault/wrap" + key).digest()


def _place(part: str, secret: SealedSecret) -> bytes:
    """The unencrypted parts of a row. If one is changed, the row cannot be opened."""
    times = [None if time is None else float(time) for time in (secret.kept_at, secret.until)]
    return json.dumps(["handraise/vault", part, secret.row, secret.owner, secret.service, *times]).encode()


def _encrypt(key: bytes, plain: bytes, place: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE)
    return nonce + AESGCM(key).encrypt(nonce, plain, place)


def _decrypt(key: bytes, sealed: bytes, place: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], place)
    except (InvalidTag, ValueError):
        raise StoreError("a kept secret was changed or moved") from None


Contents = Mapping[str, Any]
"""A kept secret: a JSON object."""


class Vault:
    """Secrets of people, one for each person and service."""

    def __init__(
        self,
        table: SecretTable,
        keys: Callable[[], KeySource],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`keys` is called when the vault is first used, so that a server which keeps nothing needs no key."""
        self._table = table
        self._find_keys = keys
        self._source: KeySource | None = None
        self._ring: KeyRing | None = None
        self._clock = clock

    async def require_key(self) -> None:
        """SetupError when there is no key. Call it before anybody is asked for a secret."""
        await self._loaded()

    async def keep(
        self, person: Person, service: str, contents: Contents, *, seconds: float | None = None
    ) -> None:
        """Keep a person's entry for a service, for some seconds or for good. It replaces the one before."""
        if person.how == "anonymous":
            raise StoreError("the vault keeps nothing for somebody whom it would not know again")
        ring = await self._loaded()  # loaded again: another process may have rotated the keys
        row, now = secrets.token_hex(16), self._clock()
        plain = json.dumps(dict(contents), separators=(",", ":")).encode()
        until = None if seconds is None else now + seconds
        await self._table.put(ring.seal(SealedSecret(row, person.key, service, b"", b"", now, until), plain))

    async def find(self, owner: Person | str, service: str) -> dict[str, Any] | None:
        """A person's secret for a service; None if there is none, or it has expired."""
        if not isinstance(owner, str) and owner.how == "anonymous":
            return None
        key = owner if isinstance(owner, str) else owner.key
        found = await self._table.find(key, service)
        if found is None:
            return None
        if (found.owner, found.service) != (key, service):
            raise StoreError("the store gave back somebody else's secret")
        if found.until is not None and self._clock() >= found.until:
            await self._table.remove(key, service)
            return None
        contents: dict[str, Any] = json.loads((await self._ring_of(found)).open(found))
        return contents

    async def forget(self, owner: Person | str, service: str) -> bool:
        """Forget a person's entry for a service; False when there was none. `purge` removes it from the disk."""
        return await self._table.remove(owner if isinstance(owner, str) else owner.key, service)

    async def purge(self) -> Leftover | None:
        """Remove forgotten, replaced and re-wrapped data from the disk; returns what cannot be removed yet."""
        return await self._table.purge()

    async def list(self, owner: Person | str | None = None) -> list[SecretInfo]:
        """The kept secrets and their owners, without contents."""
        key = owner if owner is None or isinstance(owner, str) else owner.key
        return [SecretInfo(s.owner, s.service, s.kept_at, s.until) for s in await self._table.all(key)]

    async def rotate(self, *, new: bool = True) -> int:
        """Wrap every secret by a new key, or by the first of the present ones, and drop the old; how many changed.

        If this fails halfway, nothing is lost: the old keys are dropped last.
        """
        source = await self._key_source()
        if new:
            keys = (new_key(), *await asyncio.to_thread(source.load))
            await asyncio.to_thread(source.save, keys)
        ring = await self._loaded()
        changed = 0
        while more := await self._rewrap_all(ring):  # others may keep something meanwhile
            changed += more
        if new:
            await asyncio.to_thread(source.save, keys[:1])
            await self._loaded()
        return changed

    async def _rewrap_all(self, ring: KeyRing) -> int:
        changed = 0
        for secret in await self._table.all():
            wrapped = ring.rewrap(secret)
            if wrapped is not None:
                changed += await self._table.rewrap(secret.row, was=secret.wrapped, wrapped=wrapped)
        return changed

    async def _ring_of(self, secret: SealedSecret) -> KeyRing:
        if self._ring is not None and self._ring.knows(secret):
            return self._ring
        return await self._loaded()

    async def _loaded(self) -> KeyRing:
        source = await self._key_source()
        self._ring = KeyRing(await asyncio.to_thread(source.load))
        return self._ring

    async def _key_source(self) -> KeySource:
        if self._source is None:
            self._source = await asyncio.to_thread(self._find_keys)
        return self._source
