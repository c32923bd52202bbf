"""Digests that pin a question, an answer and a call to what they were."""

from __future__ import annotations

import hashlib

from handraise.compact import compact_encoder

_write = compact_encoder(ascii_only=True, sort_keys=True, allow_nan=True)


def canonical(value: object) -> bytes:
    """One byte string for one JSON value: sorted keys, no spaces, ASCII."""
    return _write(value).encode()


def digest(value: object) -> str:
    """A short digest of a JSON value, stable across processes."""
    return hashlib.blake2b(_write(value).encode(), digest_size=16).hexdigest()


def digest_of(written: bytes) -> str:
    """A short digest of a JSON value that is written already."""
    return hashlib.blake2b(written, digest_size=16).hexdigest()


def keyed_id(key: bytes, *parts: object) -> str:
    """An id that the same parts give again, and that nobody without the key can foresee."""
    return "q_" + hashlib.blake2b(ascii(parts).encode(), key=key, digest_size=12).hexdigest()
