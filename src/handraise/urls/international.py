"""International names: which are honest, after the policy of Chromium's IDN display, and what a name looks like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final
from unicodedata import category, combining, decimal, normalize

from handraise.urls.parse import ParsedUrl
from handraise.urls.tables import read_data

_FOLDED = str.maketrans({"0": "o", "1": "l", "i": "l"})
_AS_DIGITS = str.maketrans("ol", "01")


@dataclass(frozen=True, slots=True)
class _Tables:
    same: dict[int, str]
    similar: dict[int, str]
    punctuation: frozenset[str]


@cache
def _tables() -> _Tables:
    sections: dict[str, dict[int, str]] = {}
    for line in read_data("confusables.txt").splitlines():
        if line.startswith("["):
            rows = sections.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            target, _, characters = line.partition(" ")
            rows.update((ord(character), target) for character in characters)
    same = sections["same"]
    return _Tables(same, sections["similar"] | same, frozenset(map(chr, sections["punctuation"])))


@lru_cache(maxsize=4096)
def skeleton(label: str) -> str:
    """A form that is equal for labels which a person may take for one another."""
    if not label.isascii():
        label = _without_marks(label).translate(_tables().similar)
    return label.replace("rn", "m").replace("vv", "w").translate(_FOLDED)


def looks_latin(label: str) -> bool:
    """Whether every character passes for a Latin letter or an ASCII digit."""
    replaced = _without_marks(label).translate(_tables().same)
    return replaced.replace("-", "").isalnum() and replaced.isascii()


def looks_numeric(label: str) -> bool:
    """Whether the label passes for a number, and is none."""
    replaced = label.translate(_tables().similar)
    return (
        not label.isdecimal()
        and replaced != label
        and replaced.translate(_AS_DIGITS).isdigit()
        and replaced.isascii()
    )


def passes_for_separator(label: str) -> bool:
    """Whether some character passes for a slash, a dot or another separator."""
    return not _tables().punctuation.isdisjoint(label)


def _without_marks(label: str) -> str:
    return "".join(character for character in normalize("NFD", label) if not combining(character))


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


_AT_HOME: Final[Mapping[str, frozenset[str]]] = {
    script: frozenset(domains.split())
    for script, domains in {
        "Cyrillic": "bg by kg kz mk mn ru rs su tj ua uz",
        "Greek": "gr cy",
        "Armenian": "am",
        "Georgian": "ge",
        "Hebrew": "il",
        "Arabic": "ae dz eg iq ir jo kw lb ly ma om pk qa sa sd sy tn ye",
        "Thai": "th",
        "Lao": "la",
        "Myanmar": "mm",
        "Ethiopic": "et er",
    }.items()
}
"""Top-level domains where a script is at home, so that a name in it is no disguise."""
_DEVIATIONS: Final = frozenset("ßς\u200c\u200d")
"""Characters that IDNA 2003 read as a different name."""
_STROKE_IN_LATIN: Final = re.compile(r"[a-z0-9][ノソゾンヽ丿丶〆ー一ㅡㅣ丨][a-z0-9]|[a-z0-9][ノソンヽ丿丶]$")
"""East Asian strokes that pass for a slash or a dash between Latin letters."""
_STACKED: Final = re.compile("[\u0300-\u036f]{4}|([\u0300-\u036f])\\1|[ijl\u0131]\u0307")


def check_international(link: ParsedUrl, *, own: bool) -> Iterator[str]:
    """The findings about labels beyond ASCII; `idn_label` if there is nothing worse.

    `own` is the server's own domain: how it is encoded tells nothing.
    """
    if "xn--" not in link.host:
        return
    labels = [label for label in link.unicode_host.split(".") if label]
    found = {
        reason
        for label in labels
        if label.startswith("xn--") or not label.isascii()
        for reason in _check_label(label, top=labels[-1])
    }
    if not found:
        found.add("punycode" if not own and "xn--" in link.written.host.lower() else "idn_label")
    yield from found


def _check_label(label: str, *, top: str) -> Iterator[str]:
    if label.startswith("xn--"):
        yield "invalid_punycode"
        return
    yield from _check_script(label, top)
    yield from _check_digits(label)
    yield from _check_characters(label)


def _check_script(label: str, top: str) -> Iterator[str]:
    script = script_of(label)
    if script is None and has_everyday_letters(label):
        yield "mixed_script"
    elif script not in ("Latin", *USED_TOGETHER) and looks_latin(label) and not _at_home(script, top):
        yield "whole_script_confusable"
    elif script is None:
        yield "unusual_script"


def _at_home(script: str | None, top: str) -> bool:
    return not top.isascii() or (script is not None and top in _AT_HOME.get(script, ()))


def _check_digits(label: str) -> Iterator[str]:
    zeros = {ord(character) - decimal(character) for character in label if category(character) == "Nd"}
    if len(zeros) > 1 or looks_numeric(label):
        yield "digit_lookalike"


def _check_characters(label: str) -> Iterator[str]:
    if passes_for_separator(label) or _STROKE_IN_LATIN.search(label):
        yield "deceptive_punctuation"
    elif any(
        category(character)[0] not in "LMN" and character not in "-·\u30fb\u200c\u200d" for character in label
    ):
        yield "symbol_in_name"
    if _STACKED.search(normalize("NFD", label)):
        yield "stacked_marks"
    if not _DEVIATIONS.isdisjoint(label):
        yield "deviation_char"
