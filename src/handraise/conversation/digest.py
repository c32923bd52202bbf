"""Digests that pin a question, an answer and a call to what they were."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any


def canonical(value: object) -> bytes:
    """One byte string for one JSON value: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def digest(value: object) -> str:
    """A short digest of a JSON value, stable across processes."""
    return hashlib.sha256(canonical(value)).hexdigest()[:32]


def pin(request: Mapping[str, Any]) -> str:
    """The digest of an input request exactly as it is shown."""
    return digest(request)


def keyed_id(key: bytes, *parts: object) -> str:
    """An id that the same parts give again, and that nobody without the key can foresee."""
    return "q_" + hmac.new(key, canonical(parts), hashlib.sha256).hexdigest()[:24]
