"""Names that code may use. Whatever a server calls its things, it cannot write code."""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from typing import Final

from handraise.lint.effects import words_of

_TAKEN: Final = frozenset(
    {
        "ask", "found", "answer", "count", "chosen", "given", "message", "shown", "look_up", "carry_out",
        "check", "secret", "form", "suggested", "str", "len", "list",
    }
)  # fmt: skip
"""What the proposed code calls its own."""


def identifier(name: str, otherwise: str = "value") -> str:
    """A name as an identifier of plain letters that is not taken."""
    made = "_".join(words_of(name)).lstrip("0123456789_") or otherwise
    return f"{made}_" if keyword.iskeyword(made) or made in _TAKEN else made


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """Each name with an identifier of its own."""
    made: dict[str, str] = {}
    for name in names:
        wanted = identifier(name)
        number = sum(each.rstrip("0123456789") == wanted for each in made.values())
        made[name] = f"{wanted}{number + 1}" if number else wanted
    return made
