"""What stands in the fields of a form, from what a browser posted."""

from __future__ import annotations

from typing import Any

from handraise.desks.fill import NO, YES, Entries
from handraise.forms import Choice, Choices, Field, Flag, Form
from handraise.site.posted import Posted

NONE_OF_THESE = "none"
"""Ticked among options: an empty list is the answer. Nothing ticked at all is no answer."""


def read_entries(form: Form[Any], posted: Posted, prefix: str = "f") -> Entries:
    """What stands in each field. Fields and options go by their number: their names are the server's words.

    A field without an answer is an empty text, so that a suggestion that was cleared stays cleared.
    """
    return {
        field.name: _entry(field, posted.get(f"{prefix}{at}", [])) for at, field in enumerate(form.fields)
    }


def _entry(field: Field, values: list[str]) -> str | list[str]:
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
