"""One thing that is wrong with an answer or with a schema."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """Where it is, which rule it breaks, a sentence for a person, and the value's kind.

    Never the value itself: it may be a secret that someone typed into the wrong place.
    """

    field: str | None
    rule: str
    message: str
    kind: str


class Refused(Exception):
    """The author's own type refuses an answer that its form allows. Never leaves this package."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(problems)
        self.problems = problems


def kind_of(value: object) -> str:
    """What JSON calls such a value."""
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case dict():
            return "object"
        case None:
            return "null"
        case _:
            return "other"
