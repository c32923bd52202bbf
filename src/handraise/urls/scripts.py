"""Which script a label is written in, and whether the script is in everyday use.

Follows the "highly restrictive" level of UTS #39, 5.2, as Chromium does: one
script, or Latin together with what Japanese, Chinese or Korean use.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

USED_TOGETHER: Final = ("Latin Han Hiragana Katakana", "Latin Han Bopomofo", "Latin Han Hangul")
_ALONE: Final = """
    Latin Cyrillic Greek Arabic Hebrew Armenian Georgian Devanagari Bengali Gujarati Gurmukhi Kannada
    Malayalam Oriya Sinhala Tamil Telugu Thai Lao Khmer Myanmar Tibetan Ethiopic Thaana
"""
_ALLOWED: Final = (*_ALONE.split(), *USED_TOGETHER)


@cache
def _patterns() -> tuple[Any, Any]:
    """Matches a whole label of one allowed set of scripts; finds a letter of any of them."""
    import regex  # type: ignore[import-untyped]  # at first use: only international names need it

    sets = [rf"([{_class(scripts)}\p{{Common}}\p{{Inherited}}]+)" for scripts in _ALLOWED]
    letter = rf"[[{_class(' '.join(_ALLOWED))}]--\p{{Common}}]"
    return regex.compile("|".join(sets)), regex.compile(letter, regex.V1)


def _class(scripts: str) -> str:
    return "".join(rf"\p{{Script_Extensions={script}}}" for script in scripts.split())


def script_of(label: str) -> str | None:
    """The script, or the scripts used together, of the whole label; None when there is no such."""
    match = _patterns()[0].fullmatch(label)
    return _ALLOWED[match.lastindex - 1] if match else None


def has_everyday_letters(label: str) -> bool:
    """Whether any letter is of a script in everyday use."""
    return _patterns()[1].search(label) is not None
