"""What each property of a requested schema means: a rule to check answers with, made in one pass.

Most schemas are seen once, checked once and forgotten, so this is the hot path. A rule is a plain
tuple, not an object; nothing is looked at twice; explaining and field objects happen elsewhere, on
demand. The property is copied into its rule: it gives back on the wire exactly what was parsed.

Refused here, by rule name: `type`, `nested`, `array`, `ref`, `keyword`, `keyword_value`, `bounds`,
`format`, `pattern`, `options`, `default`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Final, NoReturn, TypeAlias

from handraise.errors import WireError
from handraise.forms.fits import (
    Rule,
    fits_choice,
    fits_choices,
    fits_flag,
    fits_integer,
    fits_number,
    fits_text,
)
from handraise.forms.formats import FORMATS
from handraise.forms.keywords import (
    CHOICE,
    CHOICES,
    FLAG,
    ITEMS,
    NUMBER,
    OPTION,
    TEXT,
    read_keywords,
    refuse_kind,
)
from handraise.forms.limits import Limits
from handraise.forms.pattern import compile_pattern, weigh_pattern
from handraise.revisions import Revision

Schema: TypeAlias = dict[str, Any]
"""One property, as it stands on the wire."""

_NO_ITEMS: Final[Schema] = {}


class Reader:
    """One pass over the properties of one schema."""

    __slots__ = ("limits", "patterns", "revision")

    def __init__(self, revision: Revision, limits: Limits) -> None:
        self.revision: Revision = revision
        self.limits: Limits = limits
        self.patterns: int = 0
        """What the patterns weigh that were met so far."""

    def read(self, properties: Mapping[str, Any]) -> dict[str, Rule]:
        """The rules for all properties, in order; WireError if the protocol has no such field."""
        rules = {}
        for name, schema in properties.items():
            kind = schema.get("type") if type(schema) is dict else None
            if kind == "string":
                rule = self.string(name, schema)
            elif kind == "boolean":
                rule = self.boolean(name, schema)
            elif kind == "integer" or kind == "number":
                rule = self.number(name, schema)
            elif kind == "array":
                rule = self.array(name, schema)
            else:
                refuse_kind(name, schema)
            if "default" in rule[1]:
                self.require_default(name, rule)
            rules[name] = rule
        return rules

    def string(self, name: str, schema: Schema) -> Rule:
        if "enum" in schema or "oneOf" in schema:
            return self.choice(name, schema)
        schema = read_keywords(name, schema, TEXT)
        low, high = schema.get("minLength", 0), schema.get("maxLength", sys.maxsize)
        if not 0 <= low <= high:
            raise WireError("bounds", "minLength and maxLength leave no possible answer.", field=name)
        is_format, matches = schema.get("format"), None
        if is_format is not None:
            is_format = FORMATS.get(is_format)
            if is_format is None:
                raise WireError("format", "The format is email, uri, date or date-time.", field=name)
        if "pattern" in schema:
            if self.revision is Revision.NOVEMBER_2025:
                matches = self.pattern(name, schema["pattern"])
            else:  # the other two ignore it
                schema = {key: value for key, value in schema.items() if key != "pattern"}
        return (fits_text, schema, low, high, is_format, matches)

    def pattern(self, name: str, pattern: str) -> Callable[[object], bool]:
        bounded = pattern[: self.limits.patterns + 1]
        self.patterns += max(len(bounded), weigh_pattern(bounded))
        if self.patterns > self.limits.patterns:
            raise WireError(
                "pattern", "The patterns of this form are too long, or repeat too often.", field=name
            )
        try:
            return compile_pattern(pattern)
        except ValueError as error:
            raise WireError("pattern", f"This pattern is not supported: {error}.", field=name) from None

    def number(self, name: str, schema: Schema) -> Rule:
        schema = read_keywords(name, schema, NUMBER)
        low, high = schema.get("minimum", -inf), schema.get("maximum", inf)
        if not low <= high:
            raise WireError("bounds", "minimum and maximum leave no possible answer.", field=name)
        fits = fits_integer if schema["type"] == "integer" else fits_number
        return (fits, schema, low, high)

    def boolean(self, name: str, schema: Schema) -> Rule:
        return (fits_flag, read_keywords(name, schema, FLAG))

    def choice(self, name: str, schema: Schema) -> Rule:
        schema = read_keywords(name, schema, CHOICE)
        if "enum" not in schema:
            if self.revision is Revision.JUNE_2025:
                raise WireError("keyword", "2025-06-18 has no oneOf.", field=name)
            options = self.titled(name, schema["oneOf"])
        elif "oneOf" in schema:
            raise WireError("options", "A choice has either enum or oneOf.", field=name)
        else:
            options = self.untitled(name, schema["enum"])
            if "enumNames" in schema:
                options = self.with_names(name, options, schema["enumNames"])
        return (fits_choice, schema, options)

    def array(self, name: str, schema: Schema) -> Rule:
        if self.revision is Revision.JUNE_2025:
            raise WireError("array", "2025-06-18 has no multiple choice.", field=name)
        schema = read_keywords(name, schema, CHOICES)
        low, high = schema.get("minItems", 0), schema.get("maxItems", sys.maxsize)
        if not 0 <= low <= high:
            raise WireError("bounds", "minItems and maxItems leave no possible answer.", field=name)
        options = self.items(name, schema.get("items", _NO_ITEMS))
        if low > len(options):
            raise WireError("bounds", "minItems asks for more options than there are.", field=name)
        return (fits_choices, schema, options, low, high)

    def items(self, name: str, items: Schema) -> dict[str, str | None]:
        if "anyOf" in items and "enum" not in items:
            if len(items) != 1 or type(items["anyOf"]) is not list:
                items = read_keywords(name, items, ITEMS)
            return self.titled(name, items["anyOf"])
        if items.get("type") != "string" or "enum" not in items or "anyOf" in items:
            raise WireError(
                "array", "Free lists and lists of objects are not allowed: list the options.", field=name
            )
        return self.untitled(name, read_keywords(name, items, ITEMS)["enum"])

    def titled(self, name: str, listing: list[Any]) -> dict[str, str | None]:
        if not 0 < len(listing) <= self.limits.options:
            self.refuse_count(name)
        options = {}
        try:
            for option in listing:
                value, title = option["const"], option["title"]
                if type(value) is not str or type(title) is not str or len(option) != 2:
                    read_keywords(name, option, OPTION)
                options[value] = title
        except (KeyError, TypeError, AttributeError):
            raise WireError(
                "options", "Each option has a const and a title, both text.", field=name
            ) from None
        if len(options) != len(listing):
            raise WireError("options", "Two options have the same value.", field=name)
        return options

    def untitled(self, name: str, listing: list[Any]) -> dict[str, str | None]:
        if not 0 < len(listing) <= self.limits.options:
            self.refuse_count(name)
        try:
            "".join(listing)
        except TypeError:
            raise WireError("options", "Options are text.", field=name) from None
        options: dict[str, str | None] = dict.fromkeys(listing)
        if len(options) != len(listing):
            raise WireError("options", "Two options have the same value.", field=name)
        return options

    def with_names(
        self, name: str, options: Mapping[str, object], titles: list[Any]
    ) -> dict[str, str | None]:
        if len(titles) != len(options) or not all(type(title) is str for title in titles):
            raise WireError("options", "enumNames has one title for each option.", field=name)
        return dict(zip(options, titles, strict=True))

    def refuse_count(self, name: str) -> NoReturn:
        raise WireError("options", f"A choice has 1 to {self.limits.options} options.", field=name)

    def require_default(self, name: str, rule: Rule) -> None:
        """Refuse a default that would not be a good answer."""
        default = rule[1]["default"]
        if not rule[0](default, rule):
            raise WireError("default", "The default is not a possible answer.", field=name)
        if type(default) is list:
            rule[1]["default"] = default.copy()
