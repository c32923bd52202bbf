"""What will be sent, field by field, for a person to look at before it leaves."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from handraise.desks.fill import Filled, edited
from handraise.desks.sheet import Sheet, SheetField
from handraise.display import UntrustedText
from handraise.forms import Form


@dataclass(frozen=True, slots=True)
class ReviewLine:
    """One field, and exactly what will be sent for it."""

    field: SheetField
    sent: UntrustedText | None
    """The value as it goes on the wire; None when nothing is sent."""
    read_as: tuple[UntrustedText, ...]
    """What the person chose, in the words they chose it by, where those differ from what is sent."""
    note: str


def review(form: Form[Any], sheet: Sheet, filled: Filled) -> tuple[ReviewLine, ...]:
    """What will be sent, in the order of the form."""
    changed = edited(form, filled.content)
    return tuple(_line(field, filled.content, field.name in changed) for field in sheet.fields)


def may_leave(filled: Filled) -> bool:
    """Whether it fits and holds no credential. Nothing that a person says lets a credential through."""
    return filled.sendable and all(found.tier != 1 for found in filled.secrets)


def wrong_with(filled: Filled, name: str) -> str:
    """What keeps a field from being sent, in one line; empty when nothing does."""
    said = [problem.message for problem in filled.problems if problem.field == name]
    kept_back = [found.reason for found in filled.secrets if found.tier == 1 and found.field == name]
    return " ".join([*said, *(f"{reason} A form must not carry that." for reason in kept_back)])


def _line(field: SheetField, content: dict[str, Any], changed: bool) -> ReviewLine:
    if field.name not in content:
        return ReviewLine(field, None, (), "suggestion cleared" if field.suggested else "")
    note = ("changed from the suggestion" if changed else "as suggested") if field.suggested else ""
    value = content[field.name]
    sent = UntrustedText(json.dumps(value, ensure_ascii=False))
    return ReviewLine(field, sent, _read_as(field, value), note)


def _read_as(field: SheetField, value: Any) -> tuple[UntrustedText, ...]:
    if isinstance(value, bool):
        return (UntrustedText("Yes" if value else "No"),)
    chosen = value if isinstance(value, list) else [value]
    return tuple(
        option.label
        for option in field.options
        if option.value in chosen and option.value != option.label.raw
    )
