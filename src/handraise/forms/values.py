"""JSON values from the other side: how much may come, how it is read strictly, and whether a value fits a field.

A field's rule (see `rules`) names the function for its kind. There is no coercion and no clamping, and the function
answers fast: `check` says why a value does not fit.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, Final, TypeAlias

from handraise.errors import WireError


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a question, the same where it is made, in the linter and at the desk. Nothing is ever cut."""

    bytes: int = 1024 * 1024
    """One question: message, schema and all."""
    fields: int = 50
    options: int = 2_000
    """For each choice."""
    message: int = 64 * 1024
    """Bytes of its UTF-8."""
    patterns: int = 2_000
    """Characters in all patterns of a form together, with their counted repeats written out."""
    depth: int = 8
    answers: int = 64
    """Entries in `inputResponses`."""
    answer_bytes: int = 1024 * 1024
    """All of `inputResponses`, model output included."""


DEFAULT_LIMITS: Final = Limits()
"""The default limits."""
UNLIMITED: Final = Limits(*[sys.maxsize] * len(fields(Limits)))
"""No limits, for text that the author of a server wrote."""


SIZE_RULES: Final = frozenset({"bytes", "fields", "options", "message", "patterns", "depth"})
"""The rules of a `WireError` for something that is too large here, and otherwise correct."""


def require_message(message: str, limits: Limits = DEFAULT_LIMITS) -> None:
    """Refuse a message that is longer than a desk shows. The author of a question calls it too."""
    size = len(message.encode("utf-8", "surrogatepass"))
    if size > limits.message:
        raise WireError("message", f"The message has {size:,} bytes; {limits.message:,} are allowed.")


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
    """Refuse a JSON value from another reader if it is too long, too deep, or not JSON."""
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


_write = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, allow_nan=False, check_circular=False, separators=(",", ":")
).encode


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


Rule: TypeAlias = tuple[Any, ...]
"""`(fits, schema, …)`: the function for the kind, the property it was read from, then the kind's own."""


def fits_text(value: object, rule: Rule) -> bool:
    """Lengths are counted in code points, as JSON Schema has it."""
    if not isinstance(value, str):
        return False
    _, _, low, high, is_format, matches = rule
    return (
        low <= len(value) <= high
        and (is_format is None or is_format(value))
        and (matches is None or matches(value))
        and (value.isascii() or is_unicode(value))
    )


def fits_number(value: object, rule: Rule) -> bool:
    """NaN and the infinities are no JSON numbers; True is no number."""
    if type(value) is int or (type(value) is float and isfinite(value)):
        return bool(rule[2] <= value <= rule[3])
    return False


def fits_integer(value: object, rule: Rule) -> bool:
    """As JSON Schema has it, 2.0 is an integer; True is not."""
    if type(value) is int or (type(value) is float and value.is_integer()):
        return bool(rule[2] <= value <= rule[3])
    return False


def fits_flag(value: object, _rule: Rule) -> bool:
    """1 and "true" are no flags."""
    return value is True or value is False


def fits_choice(value: object, rule: Rule) -> bool:
    """The value of an option, never its title."""
    return isinstance(value, str) and value in rule[2]


def fits_choices(value: object, rule: Rule) -> bool:
    """Values of options, none of them twice."""
    if type(value) is not list:
        return False
    _, _, options, low, high = rule
    try:
        for item in value:
            if item not in options:
                return False
    except TypeError:  # a list or an object among them
        return False
    return low <= len(value) <= high and len(set(value)) == len(value)


NO_UNICODE: Final = (
    "The text contains half a surrogate pair, which is no character; of a file name that is no UTF-8 "
    'send os.fsencode(name).decode(errors="replace").'
)
"""The sentence for an author whose text UTF-8 cannot encode."""


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can carry the text: no half surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with a form or an answer: its place, the broken rule, a sentence for a person, and the value's kind.

    Never the value itself: it may be a secret that someone typed into the wrong place.
    """

    field: str | None
    rule: str
    message: str
    kind: str


class Refused(Exception):
    """The author's own type refuses an answer that its form allows. Never leaves this package."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(problems)
        self.problems = problems


def kind_of(value: object) -> str:
    """The JSON name of a value's type."""
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case dict():
            return "object"
        case None:
            return "null"
        case _:
            return "other"
