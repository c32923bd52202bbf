"""Turn each property of a requested schema into a rule that checks answers, in one pass.

Most schemas are seen once, checked once and forgotten, so this is the hot path. A rule is a plain
tuple, not an object; nothing is looked at twice; explaining and field objects happen elsewhere, on
demand. The property is copied into its rule: it gives back on the wire exactly what was parsed.

Refused here, by rule name: `type`, `nested`, `array`, `ref`, `keyword`, `keyword_value`, `bounds`,
`format`, `pattern`, `options`, `default`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from math import inf, isfinite
from typing import Any, Final, NoReturn, TypeAlias

from handraise.errors import WireError
from handraise.forms.formats import FORMATS, compile_pattern, weigh_pattern
from handraise.forms.values import (
    Limits,
    Rule,
    fits_choice,
    fits_choices,
    fits_flag,
    fits_integer,
    fits_number,
    fits_text,
)
from handraise.revisions import Revision

_COMMON: Final[dict[str, type]] = {"type": str, "title": str, "description": str}

TEXT: Final = _COMMON | {"minLength": int, "maxLength": int, "pattern": str, "format": str, "default": str}
NUMBER: Final = _COMMON | {"minimum": int, "maximum": int, "default": int}
"""Whole bounds are the common case; `_meant` lets the others in."""
FLAG: Final = _COMMON | {"default": bool}
CHOICE: Final = _COMMON | {"enum": list, "enumNames": list, "oneOf": list, "default": str}
CHOICES: Final = _COMMON | {
    "items": dict, "minItems": int, "maxItems": int, "uniqueItems": bool, "default": list,
}  # fmt: skip
ITEMS: Final[dict[str, type]] = {"type": str, "enum": list, "anyOf": list}
OPTION: Final[dict[str, type]] = {"const": str, "title": str}

FORM: Final[dict[str, type]] = {
    "$schema": str, "type": str, "properties": dict, "required": list, "additionalProperties": bool,
}  # fmt: skip

_RESTRICTING: Final = frozenset(
    {
        "$ref", "$dynamicRef", "$recursiveRef", "$defs", "definitions", "allOf", "anyOf", "oneOf", "not",
        "if", "then", "else", "const", "enum", "enumNames", "type", "format", "pattern", "minLength",
        "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "items",
        "additionalItems", "prefixItems", "unevaluatedItems", "contains", "minContains", "maxContains",
        "minItems", "maxItems", "uniqueItems", "properties", "patternProperties", "additionalProperties",
        "unevaluatedProperties", "propertyNames", "minProperties", "maxProperties", "required",
        "dependencies", "dependentRequired", "dependentSchemas",
    }
)  # fmt: skip
_JSON_NAMES: Final = {
    str: "a string",
    int: "a number",
    bool: "true or false",
    list: "an array",
    dict: "an object",
}
_MAY_BE_FRACTIONS: Final = frozenset({"minimum", "maximum", "default"})


def refuse_kind(name: str, schema: object) -> NoReturn:
    """Say why a property is of no kind that a form may have."""
    if not isinstance(schema, dict):
        raise WireError("type", "A field is described by a JSON object.", field=name)
    if "$ref" in schema:
        raise WireError("ref", "$ref is not allowed; a form describes each field in place.", field=name)
    if schema.get("type") == "object" or "properties" in schema:
        raise WireError("nested", "A form is flat; a field cannot be an object.", field=name)
    raise WireError("type", "The type is string, number, integer, boolean or array.", field=name)


def read_keywords(name: str | None, schema: dict[str, Any], known: Mapping[str, type]) -> dict[str, Any]:
    """A copy of the object, with nothing in it but known keywords of the right type."""
    try:
        for key, value in schema.items():
            if type(value) is not known[key]:
                break
        else:
            return schema.copy()
    except KeyError:
        pass
    return _sort_out(name, schema, known)


def _sort_out(name: str | None, schema: Mapping[str, Any], known: Mapping[str, type]) -> dict[str, Any]:
    """The slow way for a property that is not plainly right: read it as it is meant, or refuse it."""
    result = {}
    for key, value in schema.items():
        expected = known.get(key)
        if expected is not None:
            result[key] = _meant(name, key, value, expected)
        elif key in _RESTRICTING:
            rule = "ref" if key in {"$ref", "$defs", "definitions"} else "keyword"
            raise WireError(rule, f"{key} is not allowed here.", field=name)
    return result


def drop_unread(schema: dict[str, Any], read: Mapping[str, type]) -> None:
    """Remove members that only describe and that nobody reads here, such as `examples` and `placeholder`."""
    for keyword in [each for each in schema if each not in read and each not in _RESTRICTING]:
        del schema[keyword]


def _meant(name: str | None, key: str, value: object, expected: type) -> object:
    if type(value) is expected:
        return value
    if expected is int and isinstance(value, float):
        if value.is_integer():
            return int(value)
        if key in _MAY_BE_FRACTIONS and isfinite(value):
            return value
    raise WireError("keyword_value", f"{key} must be {_JSON_NAMES[expected]}.", field=name)


JsonSchema: TypeAlias = dict[str, Any]
"""One property, as it stands on the wire."""

_NO_ITEMS: Final[JsonSchema] = {}


class PropertyReader:
    """One pass over the properties of one schema."""

    __slots__ = ("limits", "patterns", "revision")

    def __init__(self, revision: Revision, limits: Limits) -> None:
        self.revision: Revision = revision
        self.limits: Limits = limits
        self.patterns: int = 0
        """The total cost of the patterns read so far."""

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

    def string(self, name: str, schema: JsonSchema) -> Rule:
        if "enum" in schema or "oneOf" in schema:
            return self.choice(name, schema)
        schema = read_keywords(name, schema, TEXT)
        low, high = schema.get("minLength", 0), schema.get("maxLength", sys.maxsize)
        if not 0 <= low <= high:
            raise WireError("bounds", "minLength and maxLength leave no possible answer.", field=name)
        is_format, matches = schema.get("format"), None
        if is_format is not None:
            if is_format not in FORMATS:
                *others, last = FORMATS
                raise WireError("format", f"The format is {', '.join(others)} or {last}.", field=name)
            is_format = FORMATS[is_format].matches
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

    def number(self, name: str, schema: JsonSchema) -> Rule:
        schema = read_keywords(name, schema, NUMBER)
        low, high = schema.get("minimum", -inf), schema.get("maximum", inf)
        if not low <= high:
            raise WireError("bounds", "minimum and maximum leave no possible answer.", field=name)
        fits = fits_integer if schema["type"] == "integer" else fits_number
        return (fits, schema, low, high)

    def boolean(self, name: str, schema: JsonSchema) -> Rule:
        return (fits_flag, read_keywords(name, schema, FLAG))

    def choice(self, name: str, schema: JsonSchema) -> Rule:
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

    def array(self, name: str, schema: JsonSchema) -> Rule:
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

    def items(self, name: str, items: JsonSchema) -> dict[str, str | None]:
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
        self.require_count(name, listing)
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
        self.require_count(name, listing)
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

    def require_count(self, name: str, listing: list[Any]) -> None:
        if not listing:
            raise WireError("options", "A choice has at least one option.", field=name)
        if len(listing) > self.limits.options:
            raise WireError("options", f"A choice has at most {self.limits.options} options.", field=name)

    def require_default(self, name: str, rule: Rule) -> None:
        """Refuse a default that would not be a good answer."""
        default = rule[1]["default"]
        if not rule[0](default, rule):
            raise WireError("default", "The default is not a possible answer.", field=name)
        if type(default) is list:
            rule[1]["default"] = default.copy()
