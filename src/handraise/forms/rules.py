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
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from handraise.errors import WireError
from handraise.forms.fits import (
    Rule,
    fits_choice,
    fits_choices,
    fits_flag,
    fits_integer,
    fits_number,
    fits_text,
    is_unicode,
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
    refuse_kind,
    sort_out,
)
from handraise.forms.limits import Limits, compact, measure, require_depth
from handraise.forms.pattern import compile_pattern
from handraise.revisions import Revision

Schema: TypeAlias = dict[str, Any]
"""One property, as it stands on the wire."""


class Reader:
    """One pass over the properties of one schema."""

    __slots__ = ("limits", "revision", "texts")

    def __init__(self, revision: Revision, limits: Limits) -> None:
        self.revision = revision
        self.limits = limits
        self.texts: list[str] = []
        """Everything of free length that was met, to be measured in the end."""

    def read(self, properties: Mapping[str, Any]) -> dict[str, Rule]:
        """The rules for all properties, in order; WireError if the protocol has no such field."""
        rules = {}
        for name, schema in properties.items():
            try:
                read = _KINDS[schema["type"]]
            except (KeyError, TypeError):
                refuse_kind(name, schema)
            rules[name] = read(self, name, schema)
        return rules

    def require_bounds(self, schema: Schema) -> None:
        """Refuse text that is too long altogether, or that is no Unicode."""
        try:
            text = "".join((*schema["properties"], *self.texts))
        except TypeError:
            raise WireError("json", "The name of a field is text.") from None
        if not (text.isascii() or is_unicode(text)):
            raise WireError("unicode", "The form contains half a surrogate pair.")
        if len(text) * 4 > self.limits.bytes and measure(schema) > self.limits.bytes:
            raise WireError("bytes", f"The form has more than {self.limits.bytes} bytes.")

    def keywords(self, name: str | None, schema: Schema, known: Mapping[str, type]) -> Schema:
        """A copy of an object with nothing in it but known keywords of the right type."""
        try:
            for key, value in schema.items():
                if type(value) is not known[key]:
                    break
            else:
                if "title" in schema:
                    self.texts.append(schema["title"])
                if "description" in schema:
                    self.texts.append(schema["description"])
                return schema.copy()
        except KeyError:
            pass
        self.texts.append(compact(schema))
        require_depth(schema, self.limits)
        return sort_out(name, schema, known)

    def string(self, name: str, schema: Schema) -> Rule:
        if "enum" in schema or "oneOf" in schema:
            return self.choice(name, schema)
        schema = self.keywords(name, schema, TEXT)
        low, high = schema.get("minLength", 0), schema.get("maxLength", sys.maxsize)
        if not 0 <= low <= high:
            raise WireError("bounds", "minLength and maxLength leave no possible answer.", field=name)
        form, matches = schema.get("format"), None
        if form is not None:
            form = FORMATS.get(form)
            if form is None:
                raise WireError("format", "The format is email, uri, date or date-time.", field=name)
        if "pattern" in schema:
            matches = self.pattern(name, schema)
        return self.with_default(name, (fits_text, schema, low, high, form, matches))

    def pattern(self, name: str, schema: Schema) -> Callable[[object], bool] | None:
        """Only 2025-11-25 has `pattern`; elsewhere it is ignored."""
        if self.revision is not Revision.NOVEMBER_2025:
            self.texts.append(schema.pop("pattern"))
            return None
        if len(schema["pattern"]) > self.limits.pattern:
            raise WireError("pattern", f"A pattern has at most {self.limits.pattern} characters.", field=name)
        try:
            return compile_pattern(schema["pattern"])
        except ValueError as error:
            raise WireError("pattern", f"This pattern is not supported: {error}.", field=name) from None

    def number(self, name: str, schema: Schema) -> Rule:
        schema = self.keywords(name, schema, NUMBER)
        low, high = schema.get("minimum", -inf), schema.get("maximum", inf)
        if not low <= high:
            raise WireError("bounds", "minimum and maximum leave no possible answer.", field=name)
        fits = fits_integer if schema["type"] == "integer" else fits_number
        return self.with_default(name, (fits, schema, low, high))

    def boolean(self, name: str, schema: Schema) -> Rule:
        return (fits_flag, self.keywords(name, schema, FLAG))

    def choice(self, name: str, schema: Schema) -> Rule:
        schema = self.keywords(name, schema, CHOICE)
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
        return self.with_default(name, (fits_choice, schema, options))

    def array(self, name: str, schema: Schema) -> Rule:
        if self.revision is Revision.JUNE_2025:
            raise WireError("array", "2025-06-18 has no multiple choice.", field=name)
        if type(schema.get("items")) is not dict:
            raise WireError(
                "array", "An array must be a multiple choice: its items list the options.", field=name
            )
        schema = self.keywords(name, schema, CHOICES)
        low, high = schema.get("minItems", 0), schema.get("maxItems", sys.maxsize)
        if not 0 <= low <= high:
            raise WireError("bounds", "minItems and maxItems leave no possible answer.", field=name)
        options = self.items(name, schema["items"])
        if low > len(options):
            raise WireError("bounds", "minItems asks for more options than there are.", field=name)
        return self.with_default(name, (fits_choices, schema, options, low, high))

    def items(self, name: str, items: Schema) -> dict[str, str | None]:
        if "anyOf" in items and "enum" not in items:
            items = self.keywords(name, items, ITEMS)
            return self.titled(name, items["anyOf"])
        if items.get("type") != "string" or "enum" not in items or "anyOf" in items:
            raise WireError(
                "array", "Free lists and lists of objects are not allowed: list the options.", field=name
            )
        return self.untitled(name, self.keywords(name, items, ITEMS)["enum"])

    def titled(self, name: str, listing: list[Any]) -> dict[str, str | None]:
        self.require_count(name, listing)
        try:
            if sum(map(len, listing)) != 2 * len(listing):
                listing = [self.keywords(name, option, OPTION) for option in listing]
            options = {option["const"]: option["title"] for option in listing}
            self.texts += ("".join(options), "".join(options.values()))
        except (KeyError, TypeError, AttributeError):
            raise WireError(
                "options", "Each option has a const and a title, both text.", field=name
            ) from None
        if len(options) != len(listing):
            raise WireError("options", "Two options have the same value.", field=name)
        return options

    def untitled(self, name: str, listing: list[Any]) -> dict[str, str | None]:
        self.require_count(name, listing)
        try:
            self.texts.append("".join(listing))
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
        self.texts += titles
        return dict(zip(options, titles, strict=True))

    def require_count(self, name: str, listing: list[Any]) -> None:
        if not 0 < len(listing) <= self.limits.options:
            raise WireError("options", f"A choice has 1 to {self.limits.options} options.", field=name)

    def with_default(self, name: str, rule: Rule) -> Rule:
        """The rule, if the default is itself a good answer."""
        schema = rule[1]
        if "default" in schema:
            default = schema["default"]
            if not rule[0](default, rule):
                raise WireError("default", "The default is not a possible answer.", field=name)
            if type(default) is str:
                self.texts.append(default)
        return rule


_KINDS: Final[Mapping[str, Callable[[Reader, str, Schema], Rule]]] = MappingProxyType(
    {
        "string": Reader.string,
        "number": Reader.number,
        "integer": Reader.number,
        "boolean": Reader.boolean,
        "array": Reader.array,
    }
)
