"""The trace that a request is part of, where its caller says so (W3C trace context, in `_meta` since SEP-414)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_PARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})(?P<trace>[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?"
)
"""Version, trace, span and flags; a version to come may add to them."""


def parse_trace(meta: object) -> str | None:
    """The trace id in a request's `_meta`; None where there is none, or something that is no trace id."""
    parent = meta.get("traceparent") if isinstance(meta, Mapping) else None
    found = _PARENT.fullmatch(parent) if isinstance(parent, str) else None
    return None if found is None else found["trace"]
