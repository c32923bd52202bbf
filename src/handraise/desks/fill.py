"""From what a person typed or ticked to the content of an answer, the same at every desk.

Unanswered is not false and not the first option: it is nothing, and sends nothing. A server's default is a
suggestion that stands until the person changes or clears it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from handraise.forms import (
    UNSET,
    Choice,
    Choices,
    Field,
    Flag,
    Form,
    Integer,
    Number,
    Problem,
    Text,
    check_answer,
)
from handraise.policy.secrets import SecretFinding, scan_answer

Entries: TypeAlias = dict[str, str | list[str]]
"""What stands in each field as text: `yes` and `no` for a flag, values for choices, absent when unanswered."""

YES, NO = "yes", "no"


@dataclass(frozen=True, slots=True)
class Filled:
    """A filled-in form: what would be sent, what is wrong with it, and what should better not leave."""

    content: dict[str, Any]
    problems: tuple[Problem, ...]
    secrets: tuple[SecretFinding, ...]

    @property
    def sendable(self) -> bool:
        """Whether there is nothing to correct first."""
        return not self.problems


def suggest(form: Form[Any]) -> Entries:
    """What the server suggests: its defaults, falsy ones included."""
    return {field.name: entry_of(field.default) for field in form.fields if field.default is not UNSET}


def entry_of(value: Any) -> str | list[str]:
    """How a value stands in a field."""
    if isinstance(value, bool):
        return YES if value else NO
    if isinstance(value, list | tuple):
        return [str(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def fill(form: Form[Any], entries: Mapping[str, str | list[str]]) -> Filled:
    """Read what stands in the fields, and check it with the checker that the server uses too."""
    content: dict[str, Any] = {}
    unreadable: list[Problem] = []
    for field in form.fields:
        entry = entries.get(field.name)
        if entry is None or _is_nothing(field, entry):
            continue
        try:
            content[field.name] = _value(field, entry)
        except ValueError as error:
            unreadable.append(Problem(field.name, "type", str(error), "text"))
    named = {problem.field for problem in unreadable}
    checked = [p for p in check_answer(form, content) if p.field not in named]
    order = {field.name: at for at, field in enumerate(form.fields)}
    problems = sorted([*unreadable, *checked], key=lambda problem: order.get(problem.field or "", -1))
    return Filled(content, tuple(problems), scan_answer(content))


def edited(form: Form[Any], content: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields in which the answer differs from what the server suggested."""
    changed = []
    for field in form.fields:
        if field.default is not UNSET:
            suggested = list(field.default) if isinstance(field.default, tuple) else field.default
            if content.get(field.name) != suggested:
                changed.append(field.name)
    return tuple(changed)


def _is_nothing(field: Field, entry: str | list[str]) -> bool:
    """Whether a field was left empty, and so sends nothing.

    An empty text or list that the server suggests is a suggestion like any other. Where the field is
    required, an empty list is an answer: none of them.
    """
    if entry == []:
        return not field.required and field.default != ()
    return entry == "" and field.default != ""


def _value(field: Field, entry: str | list[str]) -> Any:
    match field:
        case Choices():
            return entry if isinstance(entry, list) else [entry]
        case Choice():
            return entry[0] if isinstance(entry, list) and len(entry) == 1 else entry
        case Text():
            return entry
        case Flag():
            if entry not in (YES, NO):
                raise ValueError("Answer yes or no.")
            return entry == YES
        case Integer():
            return _whole(str(entry))
        case Number():
            return _number(str(entry))


def _whole(text: str) -> int:
    try:
        return int(text.strip().replace("_", "x"))
    except ValueError:
        raise ValueError("Enter a whole number.") from None


def _number(text: str) -> int | float:
    text = text.strip().replace("_", "x")
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("Enter a number.")
    return number
