"""Make text inert: whatever is not seen, or moves what is seen, is written out as ⟨U+202E⟩."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from unicodedata import category

from handraise.display.characters import CLOSING, OPENING, clings, may_be_shown

DEFAULT_LIMIT = 2000
_MARKS_ON_ONE = 4
"""Hebrew with vowels and cantillation needs four; more is scribble over the neighbouring lines."""
_LONGEST_RUN = {"\n": 2, " ": 8}
"""More of these in a row only push something out of sight."""
_TAB = "    "
_NOTHING_TO_DO = re.compile(r"(?!.* {9})(?!.*\n{3})[ -~\n]*", re.DOTALL)
_RUN = re.compile(r"[!-~]+(?: {1,8}[!-~]+)*|(.)\1*", re.DOTALL)
"""Plain words, which need no second look, or one character as often as it stands in a row."""


class _Part(NamedTuple):
    shown: str
    divisible: bool
    consumed: int


def inert(text: str, *, limit: int = DEFAULT_LIMIT) -> str:
    """The text with nothing hidden in it: safe to show, line by line, in any plain-text place.

    Line feeds stay, tabs and other spaces become spaces, everything that cannot be
    seen becomes its number in brackets that the text itself cannot contain. At most
    about `limit` characters are shown, then how many were left out. Not idempotent:
    made inert twice, the brackets of the first time are written out.
    """
    straight = _straighten(text)
    if len(straight) <= limit and _NOTHING_TO_DO.fullmatch(straight):
        return straight
    return "".join(_within(limit, straight))


def _straighten(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\t", _TAB)
    if text.isascii():
        return text
    return "".join(" " if category(character) == "Zs" else character for character in text)


def _within(limit: int, text: str) -> Iterator[str]:
    room, left = limit, len(text)
    for part in _parts(text):
        if len(part.shown) > room:
            shown = part.shown[:room] if part.divisible else ""
            yield shown + _enclosed(f"+{left - len(shown)} characters")
            return
        yield part.shown
        room -= len(part.shown)
        left -= part.consumed


def _parts(text: str) -> Iterator[_Part]:
    marks = _MARKS_ON_ONE  # a mark at the very start would be drawn onto our own frame
    for run in _RUN.finditer(text):
        character, count = run[1], len(run[0])
        if character is None:
            yield _Part(run[0], True, count)
            marks = 0
        elif not _may_stay(text, run.start(), run.end()):
            yield _Part(_by_number(character, count), False, count)
            marks = _MARKS_ON_ONE
        elif clings(character):
            kept = min(count, _MARKS_ON_ONE - marks)
            yield from _shortened(character, kept, count)
            marks += kept
        else:
            kept = min(count, _LONGEST_RUN.get(character, count))
            yield from _shortened(character, kept, count)
            marks = _MARKS_ON_ONE if character in _LONGEST_RUN else 0


def _may_stay(text: str, start: int, end: int) -> bool:
    """Only what clings depends on its neighbours, and a second one of it in a row is never needed."""
    return may_be_shown(text, start) and (end - start == 1 or may_be_shown(text, start + 1))


def _shortened(character: str, kept: int, count: int) -> Iterator[_Part]:
    if kept:
        yield _Part(character * kept, True, kept)
    if count > kept:
        yield _Part(_by_number(character, count - kept), False, count - kept)


def _by_number(character: str, count: int) -> str:
    times = f" ×{count}" if count > 1 else ""
    return _enclosed(f"U+{ord(character):04X}{times}")


def _enclosed(text: str) -> str:
    return f"{OPENING}{text}{CLOSING}"
