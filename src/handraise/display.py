"""Text from the other side, made inert before anyone sees it, for each place where people read it.

Invisible characters, and characters that move visible ones, are written out as ⟨U+202E⟩.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple
from unicodedata import category, combining, east_asian_width

__all__ = [
    "UntrustedText",
    "for_html",
    "for_line",
    "for_markdown",
    "for_terminal",
    "inert",
    "left_out",
    "line_for_html",
]

OPENING, CLOSING = "⟨", "⟩"
"""They enclose what we put in. In the text itself they are shown by number, so nobody can forge them."""

_ZWNJ, _ZWJ = "\u200c", "\u200d"
_VARIATIONS = "\ufe0e\ufe0f"
_KEYCAP = "\u20e3"
_NEVER = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\ufffc\U00016fe4\U0001d159"
).union(map(chr, range(0xFE00, 0xFE10)), map(chr, range(0xE0100, 0xE01F0)))
"""Letters, marks and symbols that show nothing, or change what stands before them."""
_TAKES_VARIATION = frozenset("‼⁉™ℹ〰〽㊗㊙©®")


def clings(character: str) -> bool:
    """Whether the character is drawn onto the one before it, or joins it to the next."""
    return category(character) in ("Mn", "Me", "Mc") or character in (_ZWJ, _ZWNJ)


def may_be_shown(text: str, place: int) -> bool:
    """Whether the character shows what it is where it stands.

    Joiners and emoji variations may stay where writing needs them: after a virama,
    between Arabic letters, inside an emoji sequence.
    """
    character = text[place]
    if character in "\n ":
        return True
    if character in _VARIATIONS:
        return _chooses_variation(text[place - 1 : place], text[place + 1 : place + 2])
    if character in (_ZWJ, _ZWNJ):
        return _is_needed(character, text[place - 1 : place], text[place + 1 : place + 2])
    return (
        category(character) not in _NEVER
        and character not in _INVISIBLE
        and character not in OPENING + CLOSING
    )


def _chooses_variation(before: str, after: str) -> bool:
    if not before:
        return False
    if before in "#*0123456789":
        return after == _KEYCAP
    return before in _TAKES_VARIATION or category(before) in ("So", "Sm")


def _is_needed(joiner: str, before: str, after: str) -> bool:
    if not before:
        return False
    if combining(before) == 9:  # a virama: the joiner decides the shape of the conjunct
        return True
    if joiner == _ZWNJ:
        return _is_arabic(before) and bool(after) and _is_arabic(after)
    return _is_emoji(before) and bool(after) and _is_emoji(after) and after not in _VARIATIONS


def _is_arabic(character: str) -> bool:
    return category(character) == "Lo" and (
        "\u0620" <= character <= "\u077f" or "\u08a0" <= character <= "\u08ff"
    )


def _is_emoji(character: str) -> bool:
    return (
        character in _VARIATIONS or category(character) == "So" or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


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
            yield shown + left_out(left - len(shown))
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
    """Only combining characters depend on their neighbours. Two of the same in a row are never needed."""
    return may_be_shown(text, start) and (end - start == 1 or may_be_shown(text, start + 1))


def _shortened(character: str, kept: int, count: int) -> Iterator[_Part]:
    if kept:
        yield _Part(character * kept, True, kept)
    if count > kept:
        yield _Part(_by_number(character, count - kept), False, count - kept)


def _by_number(character: str, count: int) -> str:
    times = f" ×{count}" if count > 1 else ""
    return _enclosed(f"U+{ord(character):04X}{times}")


def left_out(count: int) -> str:
    """A sign for characters that are not shown. The text itself cannot contain it."""
    return _enclosed(f"+{count} characters")


def _enclosed(text: str) -> str:
    return f"{OPENING}{text}{CLOSING}"


_LINE_LIMIT = 300
_WRITTEN_OUT = re.compile(f"{OPENING}[^{CLOSING}]*{CLOSING}")
_MARKDOWN = re.compile(r"([!-/:-@\[-`{-~])")


def for_line(text: str, *, limit: int = _LINE_LIMIT) -> str:
    """The text on one line, for names and labels: line feeds are written out too."""
    return inert(text, limit=limit).replace("\n", f"{OPENING}U+000A{CLOSING}")


def for_terminal(text: str, *, columns: int | None = None, limit: int = DEFAULT_LIMIT) -> list[str]:
    """The text as lines without any control, to be put into a quoted frame.

    With `columns`, no line takes more cells than that.
    """
    lines = inert(text, limit=limit).split("\n")
    if columns is None:
        return lines
    return [piece for line in lines for piece in _wrapped(line, columns)]


def for_html(text: str, *, limit: int = DEFAULT_LIMIT) -> str:
    """Markup that shows the text as it is: escaped, set apart from the direction of its surroundings.

    Written-out characters are in `<mark>`, so that a page can set them off.
    """
    return _markup(inert(text, limit=limit)).replace("\n", "<br>")


def line_for_html(text: str) -> str:
    """The same, on one line: for names and labels."""
    return _markup(for_line(text))


def _markup(shown: str) -> str:
    marked = _WRITTEN_OUT.sub(r"<mark>\g<0></mark>", escape(shown))
    return f"<bdi>{marked}</bdi>"


def for_markdown(text: str, *, limit: int = DEFAULT_LIMIT) -> str:
    """Text that a Markdown renderer shows as it is: no link, image, heading, code or HTML."""
    lines = inert(text, limit=limit).split("\n")
    return "\\\n".join(_MARKDOWN.sub(r"\\\1", line.strip(" ")) for line in lines)


def _wrapped(line: str, columns: int) -> Iterator[str]:
    start = 0
    while (end := _fitting(line, start, columns)) < len(line):
        gap = line.rfind(" ", start + 1, end + 1)
        yield line[start : end if gap < 0 else gap].rstrip(" ")
        start = end if gap < 0 else gap + 1
    yield line[start:]


def _fitting(line: str, start: int, columns: int) -> int:
    """Where a piece that begins at `start` has to end; it has one character at least."""
    room = columns
    for place in range(start, len(line)):
        room -= _cells(line[place])
        if room < 0 and place > start:
            return place
    return len(line)


def _cells(character: str) -> int:
    """How many cells a terminal may need at the most; sequences are not counted as one."""
    if category(character) in ("Mn", "Me", "Cf") and character != "\ufe0f":
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


@dataclass(frozen=True, slots=True)
class UntrustedText:
    """Text that somebody else wrote. However it is printed, it comes out inert.

    `str()`, f-strings and `repr()` give one inert line; templates that escape by
    `__html__` get safe markup. The text itself is `.raw`, for checking and hashing.
    """

    raw: str = field(repr=False)

    def __str__(self) -> str:
        return for_line(self.raw)

    def __format__(self, format_spec: str) -> str:
        return format(str(self), format_spec)

    def __repr__(self) -> str:
        return f"UntrustedText({str(self)!r})"

    def __html__(self) -> str:
        return for_html(self.raw)
