"""How much the other side may send, and JSON read strictly within it."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass, fields
from typing import Any, Final

from handraise.compact import compact_encoder
from handraise.errors import WireError


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds on what arrives. All of them are refused, never cut."""

    bytes: int = 64 * 1024
    """One question: message, schema and all."""
    fields: int = 20
    options: int = 200
    """For each choice."""
    message: int = 2_000
    """Characters."""
    patterns: int = 2_000
    """Characters in all patterns of a form together, with their counted repeats written out."""
    depth: int = 8
    answers: int = 64
    """Entries in `inputResponses`."""
    answer_bytes: int = 1024 * 1024
    """All of `inputResponses`, model output included."""


DEFAULT_LIMITS: Final = Limits()
"""What holds unless somebody says otherwise."""
UNLIMITED: Final = Limits(*[sys.maxsize] * len(fields(Limits)))
"""For what an author wrote: it is not hostile."""


def load_json(text: str | bytes, limits: Limits = DEFAULT_LIMITS) -> object:
    """Read one JSON text strictly: bounded, no duplicate keys, no NaN, no number too big for a float."""
    try:
        data = text.encode() if isinstance(text, str) else text
        if len(data) > limits.bytes:
            raise WireError("bytes", f"The JSON text has {len(data)} bytes; {limits.bytes} are allowed.")
        value: object = _DECODER.decode(data.decode())
    except UnicodeError:
        raise WireError("unicode", "The text is not valid UTF-8.") from None
    except RecursionError:
        raise WireError("depth", "The JSON is nested too deeply.") from None
    except ValueError as error:
        raise WireError("json", f"This is not JSON: {error}.") from None
    require_bounded(value, limits)
    return value


def require_bounded(value: object, limits: Limits) -> None:
    """Refuse a JSON value, read by someone else, that is too long, too deep, or no JSON after all."""
    if measure(value) > limits.bytes:
        raise WireError("bytes", f"The message has more than {limits.bytes} bytes.")
    _require_depth(value, limits)


def _require_depth(value: object, limits: Limits) -> None:
    """Refuse what is nested more deeply than the limit."""
    level = [value]
    for _ in range(limits.depth + 1):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return
    raise WireError("depth", f"The JSON is nested more than {limits.depth} deep.")


_write = compact_encoder(ascii_only=False, sort_keys=True, allow_nan=False)


def measure(value: object) -> int:
    """The bytes that a JSON value takes, written compactly; WireError if it cannot be written."""
    return len(write_json(value))


def write_json(value: object) -> bytes:
    """One byte string for one JSON value: sorted keys, no spaces; WireError if it cannot be written."""
    try:
        return _write(value).encode()
    except UnicodeEncodeError:
        raise WireError("unicode", "The text contains half a surrogate pair.") from None
    except (TypeError, ValueError, RecursionError):
        raise WireError("json", "This is not a JSON value.") from None


def _children(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise WireError("duplicate_key", "A JSON object names the same key twice.")
    return result


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise WireError("number", "A number is too big.")
    return number


def _constant(text: str) -> float:
    raise WireError("number", f"{text} is not a JSON number.")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)
