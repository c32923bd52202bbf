"""The vault itself: keep, find, forget and re-wrap the secrets of people."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from handraise.disk import Leftover
from handraise.errors import StoreError
from handraise.vault.keys import KeyRing, KeySource, new_key
from handraise.vault.records import SealedSecret, SecretInfo, SecretTable

if TYPE_CHECKING:
    from handraise.questions import Person

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
