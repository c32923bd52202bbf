"""Which keywords a property may have, and what becomes of the others.

A keyword that would restrict the answer, and that the protocol does not have, is refused: nobody
could check it. One that only annotates (`examples`, `x-…`) is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, NoReturn

from handraise.errors import WireError

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


def _meant(name: str | None, key: str, value: object, expected: type) -> object:
    if type(value) is expected:
        return value
    if expected is int and isinstance(value, float):
        if value.is_integer():
            return int(value)
        if key in _MAY_BE_FRACTIONS and isfinite(value):
            return value
    raise WireError("keyword_value", f"{key} must be {_JSON_NAMES[expected]}.", field=name)
