"""Digests that pin a question, an answer and a call to what they were."""

from __future__ import annotations

import hashlib
import json

from handraise.compact import compact_encoder

_write = compact_encoder(ascii_only=True, sort_keys=True, allow_nan=True)


def canonical(value: object) -> bytes:
    """One byte string for one JSON value: sorted keys, no spaces, ASCII."""
    return _write(value).encode()


def digest(value: object) -> str:
    """A short digest of a JSON value, stable across processes."""
    return hashlib.blake2b(_write(value).encode(), digest_size=16).hexdigest()


def keyed_id(key: bytes, *parts: object) -> str:
    """An id that the same parts give again, and that nobody without the key can foresee."""
    return "q_" + hashlib.blake2b(ascii(parts).encode(), key=key, digest_size=12).hexdigest()


class Written:
    """A JSON value that is only compared with others: equal to the same one, whatever the order of its members.

    Most are compared in the process in which they were written, where their bytes will do. A store that outlives it
    keeps the digest.
    """

    __slots__ = ("kept",)

    def __init__(self, kept: bytes | str) -> None:
        self.kept: bytes | str = kept
        """The value as it was written or, if it is long or was kept so, its digest."""
        if len(kept) > _SHORT:
            self.kept = self.digest

    @classmethod
    def of(cls, value: object) -> Written:
        """A value, written."""
        return cls(canonical(value))

    @property
    def digest(self) -> str:
        """What it is known by where it is kept."""
        return self.kept if isinstance(self.kept, str) else digest(json.loads(self.kept))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Written):
            return NotImplemented
        return self.kept == other.kept or self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Written({self.digest!r})"


_SHORT = 1024
"""Longer ones would be kept for nothing else."""
