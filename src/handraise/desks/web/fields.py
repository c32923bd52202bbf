"""The fields of a form in a browser: what stands in each, what is wrong with it, and what a page posted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from handraise.desks.fill import (
    NO,
    NO_ANSWER,
    YES,
    Entries,
    Entry,
    Filled,
    as_typed,
    may_be_none,
    spoken,
    suggest,
)
from handraise.desks.language import ENGLISH, Language
from handraise.desks.present import LONG_LIST, LONG_TEXT, ShownField, wrong_with
from handraise.display import UntrustedText, inert
from handraise.forms import Choice, Choices, Field, Flag, Form
from handraise.site.middleware import Posted

NONE_OF_THESE = "none"
"""Ticked among options: an empty list is the answer. Nothing ticked at all is no answer."""


@dataclass(frozen=True, slots=True)
class OptionView:
    """One option: the number that is posted, and what is read."""

    number: str
    label: UntrustedText | str
    checked: bool


@dataclass(frozen=True, slots=True)
class FieldView:
    """One field."""

    id: str
    sheet: ShownField
    text: str
    input: Literal["text", "date", "datetime-local"]
    options: tuple[OptionView, ...]
    suggestion_stands: bool
    spoken: str
    """A date in words, or how a number was read."""
    unseen: UntrustedText | None
    """The text written out, where something in it cannot be seen."""
    can_be_none: bool
    is_none: bool
    is_long: bool
    problems: tuple[str, ...]

    @property
    def searchable(self) -> bool:
        """Whether there are more options than one sees at a glance."""
        return len(self.options) > LONG_LIST

    @property
    def can_be_cleared(self) -> bool:
        """Whether leaving it unanswered is worth a control of its own."""
        return self.sheet.suggested or self.sheet.answered or not self.sheet.required

    @property
    def hint(self) -> str:
        """What fits, unless a problem says the same."""
        return "" if any(self.sheet.hint in each for each in self.problems) else self.sheet.hint

    @property
    def described_by(self) -> str:
        """The ids of the texts that belong to it, for screen readers: what is wrong comes first."""
        parts = {
            "problem": bool(self.problems) or self.sheet.objection is not None,
            "about": self.sheet.description is not None,
            "hint": bool(self.hint),
            "read": not self.options,
            "unseen": self.unseen is not None,
        }
        return " ".join(f"{self.id}-{part}" for part, there in parts.items() if there)


def view_fields(
    form: Form[Any],
    shown: Sequence[ShownField],
    entries: Entries,
    filled: Filled | None,
    prefix: str = "f",
    *,
    language: Language = ENGLISH,
    read_as: Mapping[str, str] | None = None,
    last_answer: Mapping[str, Any] = NO_ANSWER,
    in_zone: Callable[[Entry], str] | None = None,
) -> tuple[FieldView, ...]:
    """Every field as it stands. Problems are shown once something was submitted (`filled`).

    `in_zone` writes a date and time in the person's zone, once their browser has said which one that is.
    """
    suggested = suggest(form, last_answer)
    views = []
    for at, (field, each) in enumerate(zip(form.fields, shown, strict=True)):
        entry = entries.get(field.name, "")
        wrong = "" if filled is None else wrong_with(filled, field, language)
        stands = field.name in suggested and suggested[field.name] == entry
        local = ""
        if each.kind == "date-time" and in_zone is not None and not stands:
            local = in_zone(entry)
            if local == in_zone(suggested.get(field.name, "")):  # a suggestion is sent as it came
                local = ""
        views.append(
            FieldView(
                id=f"{prefix}{at}",
                sheet=each,
                text=local or _text(field, entry, language),
                input="datetime-local" if local else _input(each, entry),
                options=_options(each, entry, language),
                suggestion_stands=stands,
                spoken=(read_as or {}).get(field.name, "") or spoken(field, entry, language),
                unseen=_unseen(each, entry),
                can_be_none=may_be_none(field),
                is_none=entry == [],
                is_long=each.kind == "text" and (each.long or "\n" in entry or len(entry) > LONG_TEXT),
                problems=(wrong,) if wrong else (),
            )
        )
    return tuple(views)


def read_entries(form: Form[Any], posted: Posted, prefix: str = "f") -> Entries:
    """The entries that a page posted. Fields and options have numbers, because their names are the server's words.

    A field without an answer is an empty text, so that a suggestion that was cleared stays cleared.
    """
    return {
        field.name: _entry(field, posted.get(f"{prefix}{at}", [])) for at, field in enumerate(form.fields)
    }


def _text(field: Field, entry: Entry, language: Language) -> str:
    typed = as_typed(field, entry, language)
    return typed if isinstance(typed, str) else ""


def _input(shown: ShownField, entry: Entry) -> Literal["text", "date", "datetime-local"]:
    """A browser silently drops from its own controls what they cannot show: such text stays in a plain field."""
    if shown.kind == "date-time" and not entry:
        return "datetime-local"
    if shown.kind != "date" or not isinstance(entry, str):
        return "text"
    try:
        return "date" if not entry or date.fromisoformat(entry).isoformat() == entry else "text"
    except ValueError:
        return "text"


def _unseen(shown: ShownField, entry: Entry) -> UntrustedText | None:
    free = isinstance(entry, str) and not shown.options and shown.kind != "flag"
    return UntrustedText(str(entry)) if free and inert(str(entry), limit=10**6) != entry else None


def _options(shown: ShownField, entry: Entry, language: Language) -> tuple[OptionView, ...]:
    if shown.kind == "flag":
        answers: dict[str, str] = {each.act: str(each) for each in shown.answers} or {
            each: language(each) for each in (YES, NO)
        }
        return tuple(OptionView(answer, label, entry == answer) for answer, label in answers.items())
    chosen = set(entry if isinstance(entry, list) else [entry] if entry else [])
    return tuple(
        OptionView(str(number), option.label, option.value in chosen)
        for number, option in enumerate(shown.options)
    )


def _entry(field: Field, values: list[str]) -> Entry:
    match field:
        case Choices():
            ticked = [value for number in values if (value := _option(field, number)) is not None]
            return ticked or ([] if NONE_OF_THESE in values else "")
        case Choice():
            value = _option(field, values[0]) if values else None
            return [value] if value == "" else value or ""  # an option may be the empty text
        case Flag():
            return values[0] if values and values[0] in (YES, NO) else ""
        case _:
            return values[0].replace("\r\n", "\n") if values else ""


def _option(field: Choice | Choices, number: str) -> str | None:
    at = int(number) if number.isascii() and number.isdigit() and len(number) < 6 else -1
    return field.options[at].value if 0 <= at < len(field.options) else None
