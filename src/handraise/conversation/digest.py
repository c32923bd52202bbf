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

    __slots__ = ("_digest", "_text")

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._digest = "" if len(text) <= _SHORT else self._forget()

    @classmethod
    def of(cls, value: object) -> Written:
        """A value, written."""
        return cls(canonical(value))

    @classmethod
    def known_by(cls, digest: str) -> Written:
        """A value of which only the digest was kept."""
        known = cls(b"")
        known._digest = digest
        return known

    @property
    def digest(self) -> str:
        """What it is known by where it is kept."""
        return self._digest or self._forget()

    def _forget(self) -> str:
        self._digest, self._text = digest(json.loads(self._text)), b""
        return self._digest

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Written):
            return NotImplemented
        return (self._text != b"" and self._text == other._text) or self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Written({self.digest})"


_SHORT = 1024
"""Longer ones would be kept for nothing else."""
