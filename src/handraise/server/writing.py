"""JSON written by pydantic, with which the SDK has just written and read: code that the processor has at hand.

The standard library's takes three times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pydantic_core import to_json

from handraise.conversation.digest import canonical
from handraise.forms import write_json


def _write(otherwise: Callable[[object], bytes], value: object) -> bytes:
    try:
        written = to_json(value)
    except ValueError:  # half a character, or very deep
        return otherwise(value)
    return otherwise(value) if b"NaN" in written or b"Infinity" in written else written


write_answers: Callable[[object], bytes] = partial(_write, write_json)
"""Writes what a client answered. Raises `WireError` when it is no JSON."""
write_arguments: Callable[[object], bytes] = partial(_write, canonical)
"""Writes what a client called with: whatever the SDK took."""
