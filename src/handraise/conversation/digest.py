"""Digests that pin a question, an answer and a call to what they were."""

from __future__ import annotations

import hashlib
import json
from json import encoder
from typing import Any

_plain = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False)


def _made_once() -> Any:
    """The encoder behind `json.dumps`, which makes a new one for every value; that takes as long as encoding."""
    make: Any = getattr(encoder, "c_make_encoder", None)
    if make is None:  # no CPython
        return _plain.iterencode
    text, colon, comma = encoder.encode_basestring_ascii, _plain.key_separator, _plain.item_separator
    made = make(None, _plain.default, text, None, colon, comma, True, False, True)
    return lambda value: made(value, 0)


_chunks = _made_once()


def canonical(value: object) -> bytes:
    """One byte string for one JSON value: sorted keys, no spaces, ASCII."""
    return "".join(_chunks(value)).encode()


def digest(value: object) -> str:
    """A short digest of a JSON value, stable across processes."""
    return hashlib.sha256(canonical(value)).hexdigest()[:32]


def keyed_id(key: bytes, *parts: object) -> str:
    """An id that the same parts give again, and that nobody without the key can foresee."""
    told = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return "q_" + hashlib.blake2b(told, key=key, digest_size=12).hexdigest()
