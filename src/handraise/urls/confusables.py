"""What a name looks like: its characters replaced by the ASCII ones that they are taken for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from unicodedata import combining, normalize

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
