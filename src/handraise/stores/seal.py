"""Encryption of the contents of a store on disk.

AES-256-GCM. The place of a value (table, row, column) is authenticated with it. An attacker who can write to the file
cannot move an answer from one question to another.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from handraise.disk import create_file, make_private
from handraise.errors import SetupError, StoreError

_MINIMUM = 32
_NONCE = 12
_NAME = 4


class Sealer:
    """Seals with the first key of the ring, opens with any."""

    def __init__(self, keys: Sequence[bytes | str]) -> None:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._changed = InvalidTag
        material = require_keys(keys)
        self._ring: dict[bytes, AESGCM] = {}
        for key in material:
            name = hashlib.sha256(b"handraise/name" + key).digest()[:_NAME]
            self._ring.setdefault(name, AESGCM(hashlib.sha256(b"handraise/seal" + key).digest()))
        self._first = next(iter(self._ring))
        self._roots = [hashlib.sha256(b"handraise/derive" + key).digest() for key in material]

    def derived(self, purpose: str) -> list[bytes]:
        """Secrets for one purpose, one from each key of the ring, in order."""
        return [hmac.digest(root, purpose.encode(), "sha256") for root in self._roots]

    def knows(self, sealed: bytes) -> bool:
        """Whether the key of a sealed value is in the ring."""
        return sealed[:_NAME] in self._ring

    def seal(self, plain: bytes, place: str) -> bytes:
        """The sealed bytes, bound to their place."""
        nonce = os.urandom(_NONCE)
        return self._first + nonce + self._ring[self._first].encrypt(nonce, plain, place.encode())

    def seal_all(self, plains: Sequence[tuple[bytes, str]]) -> list[bytes]:
        """Seal many values at once, each bound to its place."""
        first, encrypt = self._first, self._ring[self._first].encrypt
        drawn = os.urandom(_NONCE * len(plains))
        nonces = [drawn[at : at + _NONCE] for at in range(0, len(drawn), _NONCE)]
        return [
            first + nonce + encrypt(nonce, plain, place.encode())
            for nonce, (plain, place) in zip(nonces, plains, strict=True)
        ]

    def open(self, sealed: bytes, place: str) -> bytes:
        """The plain bytes. StoreError when they were changed, moved, or sealed with an unknown key."""
        cipher = self._ring.get(sealed[:_NAME])
        if cipher is None:
            raise StoreError("sealed with a key that is not in the ring")
        try:
            return cipher.decrypt(sealed[_NAME : _NAME + _NONCE], sealed[_NAME + _NONCE :], place.encode())
        except (self._changed, ValueError):
            raise StoreError("a sealed value was changed or moved") from None


def require_keys(keys: Sequence[bytes | str]) -> list[bytes]:
    """The keys of a ring as bytes. SetupError unless they are a list of keys that cannot be guessed.

    A single key instead of a list would be split into its characters.
    """
    if isinstance(keys, str | bytes | bytearray | memoryview) or not isinstance(keys, Iterable):
        raise SetupError(f"keys is a list of keys, not one {type(keys).__name__}: write keys=[key]")
    material: list[bytes] = []
    for key in keys:
        if not isinstance(key, str | bytes | bytearray | memoryview):
            raise SetupError(f"a key is text or bytes, not {type(key).__name__}: write keys=[key]")
        material.append(key.encode() if isinstance(key, str) else bytes(key))
    if not material or any(len(key) < _MINIMUM for key in material):
        raise SetupError(
            f"a key needs at least {_MINIMUM} bytes of randomness; make one with: "
            'python -c "import secrets; print(secrets.token_hex(32))"'
        )
    return material


def key_file_beside(path: Path) -> bytes:
    """The key of a store without configured keys: a private file beside it."""
    file = path.with_name(path.name + ".key")
    if not file.exists():
        create_file(
            file, os.urandom(_MINIMUM)
        )  # never replace another process's key: its store would be lost
    make_private(file)
    key = file.read_bytes()
    if len(key) < _MINIMUM:
        raise SetupError(f"{file} is no key; restore it, or move it and its database away to begin anew")
    return key
