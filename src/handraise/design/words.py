"""The words of a question, made from the names that a tool has."""

from __future__ import annotations

import keyword
from dataclasses import dataclass

from handraise.design.decide import harmful_word
from handraise.design.subject import Argument, Subject
from handraise.lint.effects import words_of

_SMALL = {"the", "a", "an", "of", "to", "and", "all", "by"}
_TAKEN = {"ask", "found", "answer", "count", "chosen", "given", "message", "shown", "look_up", "carry_out"}
"""Names that the proposed code uses itself."""
_UNCOUNTED = {"mail", "money", "data", "access", "news"}


@dataclass(frozen=True, slots=True)
class Words:
    """What the tool does, and to what: `Delete`, `note`, `notes`."""

    verb: str
    one: str
    many: str


def words_for(subject: Subject) -> Words:
    """The verb and the noun of a tool's name; `item` where it has no noun."""
    words = words_of(subject.name) or ["change"]
    verb = harmful_word(subject) or words[0]
    nouns = [word for word in words if word != verb and word not in _SMALL] or ["item"]
    noun = " ".join(nouns)
    if noun in _UNCOUNTED:
        return Words(verb.capitalize(), noun, noun)
    one = noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun
    return Words(verb.capitalize(), one, one if one.endswith("s") else f"{one}s")


def title_of(argument: Argument) -> str:
    """An argument's name, as a person reads it."""
    return " ".join(words_of(argument.name)) or "value"


def identifier(name: str, otherwise: str = "value") -> str:
    """A name that code may use; whatever a server calls things, it cannot write code."""
    made = "_".join(words_of(name)) or otherwise
    return f"{made}_" if keyword.iskeyword(made) or made[0].isdigit() or made in _TAKEN else made
