"""The fields of a sheet as a browser shows them: what stands in each, where it comes from, what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from handraise.desks.fill import NO, YES, Entries, Filled, suggest
from handraise.desks.sheet import SheetField
from handraise.display import UntrustedText, inert
from handraise.forms import Choices, Field, Form, Text

_LONG = 300
"""Where a line of text becomes a box with several lines."""


@dataclass(frozen=True, slots=True)
class OptionView:
    """One option: the number that is posted, what is read, and the value where that says something else."""

    number: str
    label: UntrustedText | str
    value: UntrustedText | None
    checked: bool


@dataclass(frozen=True, slots=True)
class FieldView:
    """One field."""

    id: str
    sheet: SheetField
    text: str
    options: tuple[OptionView, ...]
    suggestion_stands: bool
    unseen: UntrustedText | None
    """The text written out, where something in it cannot be seen."""
    can_be_none: bool
    is_none: bool
    is_long: bool
    problems: tuple[str, ...]

    @property
    def can_be_cleared(self) -> bool:
        """Whether leaving it unanswered is worth a control of its own."""
        return self.sheet.suggested or not self.sheet.required

    @property
    def described_by(self) -> str:
        """The ids of the texts that belong to it, for screen readers: what is wrong comes first."""
        parts = {
            "problem": bool(self.problems),
            "about": self.sheet.description is not None,
            "hint": bool(self.sheet.hint),
            "suggested": self.suggestion_stands,
            "unseen": self.unseen is not None,
        }
        return " ".join(f"{self.id}-{part}" for part, there in parts.items() if there)


def view_fields(
    form: Form[Any],
    laid_out: Sequence[SheetField],
    entries: Entries,
    filled: Filled | None,
    prefix: str = "f",
) -> tuple[FieldView, ...]:
    """Every field as it stands. Problems are shown once something was submitted (`filled`)."""
    suggested = suggest(form)
    return tuple(
        _view(
            f"{prefix}{at}", field, shown, entries.get(field.name, ""), suggested, _wrong(field.name, filled)
        )
        for at, (field, shown) in enumerate(zip(form.fields, laid_out, strict=True))
    )


def _view(
    name: str,
    field: Field,
    shown: SheetField,
    entry: str | list[str],
    suggested: Entries,
    problems: tuple[str, ...],
) -> FieldView:
    text = entry if isinstance(entry, str) else ""
    free = not shown.options and shown.kind != "flag"
    return FieldView(
        id=name,
        sheet=shown,
        text=text,
        options=_options(shown, entry),
        suggestion_stands=shown.name in suggested and suggested[shown.name] == entry,
        unseen=UntrustedText(text) if free and inert(text, limit=10**6) != text else None,
        can_be_none=isinstance(field, Choices)
        and not field.min_items
        and (field.required or field.default == ()),
        is_none=entry == [],
        is_long=shown.kind == "text" and ("\n" in text or len(text) > _LONG or _is_long(field)),
        problems=problems,
    )


def _is_long(field: Field) -> bool:
    return isinstance(field, Text) and field.max_length is not None and field.max_length > _LONG


def _options(shown: SheetField, entry: str | list[str]) -> tuple[OptionView, ...]:
    if shown.kind == "flag":
        return tuple(OptionView(answer, answer.capitalize(), None, entry == answer) for answer in (YES, NO))
    chosen: Sequence[str] = entry if isinstance(entry, list) else [entry] if entry else []
    return tuple(
        OptionView(
            str(number),
            option.label,
            UntrustedText(option.value) if option.value != option.label.raw else None,
            option.value in chosen,
        )
        for number, option in enumerate(shown.options)
    )


def _wrong(name: str, filled: Filled | None) -> tuple[str, ...]:
    if filled is None:
        return ()
    problems = [problem.message for problem in filled.problems if problem.field == name]
    return (*problems, *(found.reason for found in filled.secrets if found.field == name and found.tier == 1))
