"""JSON written compactly, by encoders that are made once.

`json.dumps` makes a new one for every value, which takes as long as writing it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from json import encoder
from typing import Any


def compact_encoder(*, ascii_only: bool, sort_keys: bool, allow_nan: bool) -> Callable[[object], str]:
    """What writes any JSON value without spaces. Raises what `json.dumps` does, and RecursionError for a circle."""
    plain = json.JSONEncoder(
        ensure_ascii=ascii_only,
        sort_keys=sort_keys,
        allow_nan=allow_nan,
        check_circular=False,
        separators=(",", ":"),
    )
    make: Any = getattr(encoder, "c_make_encoder", None)
    if make is None:  # no CPython
        return plain.encode
    quoted = encoder.encode_basestring_ascii if ascii_only else encoder.encode_basestring
    chunks = make(None, plain.default, quoted, None, ":", ",", sort_keys, False, allow_nan)
    return lambda value: "".join(chunks(value, 0))
