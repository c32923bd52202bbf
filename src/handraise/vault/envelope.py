"""Envelope encryption: each row has a data key of its own, and the vault's key wraps that.

AES-256-GCM twice. Every other column of the row is authenticated in both. So somebody who can write to the store
cannot hand one person's secret to another, mix the parts of two rows, or prolong a secret that expires. Changing the
vault's key re-wraps data keys and touches no contents.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence

from handraise.errors import SetupError, StoreError
from handraise.vault.records import SealedSecret

MIN_KEY = 32
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
    """Everything in a row that is not sealed itself. A row in which any of it was changed opens for nobody."""
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
