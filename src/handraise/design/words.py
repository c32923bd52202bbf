"""The words of a question, made from the names that a tool has."""

from __future__ import annotations

from dataclasses import dataclass

from handraise.design.decide import harmful_word
from handraise.design.subject import Argument, Subject
from handraise.lint.effects import words_of

_SMALL = {"the", "a", "an", "of", "to", "and", "all", "by"}
_PARTICLES = {"up", "out", "off", "down", "away"}
_SPELLED = {"api": "API", "pin": "PIN", "ssh": "SSH", "id": "ID", "url": "URL", "sql": "SQL"}
_SERVICES = {"git", "github", "gitlab", "slack", "jira", "aws", "docker", "kubectl", "npm", "db"}
"""What a tool's name may begin with and act in, not on."""
_UNCOUNTED = {"mail", "money", "data", "access", "news", "SQL", "code"}


@dataclass(frozen=True, slots=True)
class Words:
    """What the tool does, and to what: `Delete`, `the note`, `note`, `notes`."""

    verb: str
    object: str
    """Empty where the tool's name has no noun."""
    one: str
    many: str


def words_for(subject: Subject) -> Words:
    """The verb and the noun of a tool's name; one of `item` where it has no noun."""
    words = words_of(subject.name) or ["change"]
    verb = harmful_word(subject) or words[0]
    particles = [word for word in words if word in _PARTICLES]
    acts_in = {words[0]} & _SERVICES
    left_out = {verb, *_SMALL, *_PARTICLES, *acts_in}
    nouns = [_SPELLED.get(word, word) for word in words if word not in left_out]
    verb, noun = " ".join([verb.capitalize(), *particles]), " ".join(nouns)
    if noun in _UNCOUNTED:
        return Words(verb, f"the {noun}", noun, noun)
    one = noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun or "item"
    return Words(verb, f"the {noun}" if noun else "", one, one if one.endswith("s") else f"{one}s")


def title_of(argument: Argument) -> str:
    """An argument's name, as a person reads it."""
    return " ".join(_SPELLED.get(word, word) for word in words_of(argument.name)) or "value"
