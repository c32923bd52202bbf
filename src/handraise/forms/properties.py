"""A field as a property of a requested schema, and back.

Properties are written in full, as 2025-11-25 knows them; `dump` leaves out what another revision lacks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, assert_never

from handraise.errors import FormError
from handraise.forms.fields import UNSET, Choice, Choices, Field, Flag, Integer, Number, Option, Text
from handraise.forms.values import Rule, fits_choice, fits_choices, fits_flag, fits_integer, fits_number


def property_of(field: Field) -> dict[str, Any]:
    """The property that describes a field."""
    match field:
        case Text():
            pattern = field.pattern if field.pattern is None else pattern_text(field.name, field.pattern)
            limits = {"minLength": field.min_length, "maxLength": field.max_length}
            return _property(field, "string", **limits, pattern=pattern, format=field.format)
        case Number():
            return _property(field, "number", minimum=field.minimum, maximum=field.maximum)
        case Integer():
            return _property(field, "integer", minimum=field.minimum, maximum=field.maximum)
        case Flag():
            return _property(field, "boolean")
        case Choice():
            listing = _old_listing(field.options) if field.enum_names else _listing(field.options, "oneOf")
            return _property(field, "string", **listing)
        case Choices():
            items = _listing(field.options, "anyOf")
            if "enum" in items:
                items = {"type": "string", **items}
            return _property(field, "array", minItems=field.min_items, maxItems=field.max_items, items=items)
        case _:
            assert_never(field)


def field_of(name: str, rule: Rule, required: bool) -> Field:
    """The field that a rule was read for."""
    fits, schema = rule[0], rule[1]
    common = {"title": schema.get("title"), "description": schema.get("description"), "required": required}
    default = schema.get("default", UNSET)
    if fits is fits_choice:
        return Choice(name, _options(rule[2]), default=default, enum_names="enumNames" in schema, **common)
    if fits is fits_choices:
        items = {"min_items": schema.get("minItems"), "max_items": schema.get("maxItems")}
        return Choices(name, _options(rule[2]), default=default, **items, **common)
    if fits is fits_flag:
        return Flag(name, default=default, **common)
    if fits is fits_integer or fits is fits_number:
        kind = Integer if fits is fits_integer else Number
        return kind(
            name, default=default, minimum=schema.get("minimum"), maximum=schema.get("maximum"), **common
        )
    lengths = {"min_length": schema.get("minLength"), "max_length": schema.get("maxLength")}
    words = {"pattern": schema.get("pattern"), "format": schema.get("format")}
    return Text(name, default=default, **lengths, **words, **common)


def pattern_text(name: str, pattern: str | re.Pattern[str]) -> str:
    """The text of a pattern. Flags are refused: the wire cannot carry them."""
    if isinstance(pattern, str):
        return pattern
    if pattern.flags & ~re.UNICODE:
        raise FormError("a pattern with flags cannot be sent; write it without them", field=name)
    return pattern.pattern


def listing_of(options: Mapping[str, str | None]) -> list[dict[str, str]]:
    """Options as `oneOf` and `anyOf` list them."""
    return [{"const": value, "title": value if title is None else title} for value, title in options.items()]


def _property(field: Field, kind: str, **keywords: object) -> dict[str, Any]:
    default = list(field.default) if isinstance(field.default, tuple) else field.default
    every = {"type": kind, "title": field.title, "description": field.description, **keywords}
    result = {key: value for key, value in every.items() if value is not None}
    if default is not UNSET:
        result["default"] = default
    return result


def _listing(options: tuple[Option, ...], titled: str) -> dict[str, Any]:
    if all(option.title is None for option in options):
        return {"enum": [option.value for option in options]}
    return {titled: [{"const": option.value, "title": option.label} for option in options]}


def _old_listing(options: tuple[Option, ...]) -> dict[str, Any]:
    return {"enum": [option.value for option in options], "enumNames": [option.label for option in options]}


def _options(options: Mapping[str, str | None]) -> tuple[Option, ...]:
    return tuple(Option(value, title) for value, title in options.items())
