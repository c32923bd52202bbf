"""JSON text under limits: parsed once, and written anew on one line.

Two programs may read the same bytes differently: a member that appears twice, a line feed between two members, a number
that is too long for one of them. So the gateway never passes bytes on. It parses a text here, judges the value, and
writes the value anew: on one line, in ASCII. Numbers keep their text, because `1.0` and `1` differ for some programs.
"""

from __future__ import annotations

import json
import math
import re
from json.encoder import encode_basestring_ascii
from typing import Any, Final

LONGEST: Final = 16 * 1024 * 1024
"""Bytes of the longest text."""
DEEPEST: Final = 200
"""Levels of objects and lists."""
MOST_DIGITS: Final = 1000
"""Digits of a number."""

MOST_VALUES: Final = 1_000_000
"""Values and names. 16 MiB of short numbers would need a hundred times the memory."""

_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_ESCAPE: Final = re.compile(
    rb"((?:\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})++)|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
"""Backslashes and pairs of surrogates, which stay; or a lone surrogate, which does not."""


class WrittenInteger(int):
    """An integer whose text Python would change. There is only one: `-0`."""

    text = "-0"


_MINUS_ZERO: Final = WrittenInteger(0)


_PLAIN: Final = json.JSONEncoder(allow_nan=False)


class Fraction(float):
    """A number whose text Python would change, such as `1e2` or `0.10`."""

    __slots__ = ("text",)  # one JSON text may have a million of them

    text: str


class JsonError(ValueError):
    """A refused text. `value` is what could be parsed of it; None when it is not JSON at all."""

    def __init__(self, why: str, value: Any = None) -> None:
        super().__init__(why)
        self.value = value


def parse_json(raw: bytes) -> Any:
    """Parse a text; JsonError when it breaks a limit or has two readings.

    A lone surrogate (half an emoji) becomes the replacement character U+FFFD.
    """
    if len(raw) > LONGEST:
        raise JsonError(f"it is longer than {LONGEST // 2**20} MiB")
    texts = (raw.count(b'"') - raw.count(b'\\"')) // 2
    if texts > MOST_VALUES or (_may_have_too_many(raw) and _may_have_too_many(_STRING.sub(b"", raw))):
        raise JsonError(f"it has more than {MOST_VALUES:,} values")
    raw = _ESCAPE.sub(lambda found: found[1] or rb"\ufffd", raw)
    reading = _Reading()
    try:
        value = json.loads(
            raw.decode(),
            parse_int=reading.integer,
            parse_float=reading.fraction,
            parse_constant=reading.constant,
            object_pairs_hook=reading.members,
        )
    except UnicodeDecodeError:
        raise JsonError("it is not written in UTF-8") from None
    except RecursionError:
        raise JsonError(f"it is nested deeper than {DEEPEST} levels") from None
    except ValueError:
        raise JsonError("it is not JSON") from None
    if raw.count(b"[") + raw.count(b"{") > DEEPEST and not _is_shallow(value):
        reading.problem = f"it is nested deeper than {DEEPEST} levels"
    if reading.problem is not None:
        raise JsonError(reading.problem, value)
    return value


def _may_have_too_many(raw: bytes) -> bool:
    """Whether the text may have too many values. Each value but the first follows one of these signs."""
    return sum(raw.count(sign) for sign in (b",", b"[", b"{", b":")) > MOST_VALUES


class _Reading:
    """The parser's hooks. They note a problem and continue, so that a refused message still has its id."""

    def __init__(self) -> None:
        self.problem: str | None = None

    def integer(self, text: str) -> int:
        if len(text) > MOST_DIGITS and len(text.removeprefix("-")) > MOST_DIGITS:
            self._note(f"it has a number of more than {MOST_DIGITS} digits")
            return 0
        return _MINUS_ZERO if text == "-0" else int(text)

    def fraction(self, text: str) -> float:
        if len(text) > MOST_DIGITS and sum(map(str.isdigit, text)) > MOST_DIGITS:
            self._note(f"it has a number of more than {MOST_DIGITS} digits")
            return 0.0
        number = float(text)
        if not math.isfinite(number):
            self._note("it has a number that is out of range")
            return 0.0
        if repr(number) == text:
            return number
        kept = Fraction(number)
        kept.text = text
        return kept

    def constant(self, text: str) -> None:
        self._note(f"it has {text}, which is not JSON")

    def members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            self._note("it names a member of an object twice")
        return found

    def _note(self, problem: str) -> None:
        self.problem = self.problem or problem


def _is_shallow(value: Any) -> bool:
    here = [value]
    for _ in range(DEEPEST + 1):
        here = [each for each in here if isinstance(each, dict | list)]
        if not here:
            return True
        here = [each for one in here for each in (one.values() if isinstance(one, dict) else one)]
    return False


def dump_json(value: Any) -> str:
    """A value as one line of ASCII. ValueError for NaN and infinity."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if isinstance(value, dict):
        members = [f"{encode_basestring_ascii(name)}:{dump_json(each)}" for name, each in value.items()]
        return "{" + ",".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join([dump_json(each) for each in value]) + "]"
    if isinstance(value, WrittenInteger | Fraction):
        return value.text
    return _PLAIN.encode(value)


def plain(value: Any) -> Any:
    """The value with plain Python numbers."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, WrittenInteger):
        return int(value)
    return float(value) if isinstance(value, Fraction) else value
