"""Inert text for the places where people read it: a terminal, one line, HTML, Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from unicodedata import category, east_asian_width

from handraise.display.inert_text import CLOSING, DEFAULT_LIMIT, OPENING, inert

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
    markup = _WRITTEN_OUT.sub(r"<mark>\g<0></mark>", escape(inert(text, limit=limit)))
    return f"<bdi>{markup.replace(chr(10), '<br>')}</bdi>"


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
