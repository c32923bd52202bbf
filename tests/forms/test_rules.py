"""What a property of a requested schema may say, and what is refused by the name of which rule."""

from __future__ import annotations

from typing import Any

import pytest

from handraise.errors import WireError
from handraise.forms import Limits, parse_form
from handraise.revisions import Revision

B = Revision.NOVEMBER_2025
TITLED = [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]


def form_of(schema: object, revision: Revision = B, limits: Limits | None = None) -> Any:
    return parse_form({"type": "object", "properties": {"x": schema}}, revision, limits or Limits())


def rule_of(schema: object, revision: Revision = B, limits: Limits | None = None) -> str:
    with pytest.raises(WireError) as refused:
        form_of(schema, revision, limits)
    assert refused.value.field == "x"
    return refused.value.rule


GOOD: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "title": "T", "description": "D", "minLength": 0, "maxLength": 0, "default": ""},
    {"type": "string", "minLength": 3.0},
    {"type": "string", "pattern": "^a", "format": "uri", "default": "a:b"},
    {"type": "number", "minimum": -0.5, "maximum": 1e300, "default": 0},
    {"type": "number", "minimum": 3, "maximum": 3},
    {"type": "integer", "minimum": 0.5, "maximum": 10**30, "default": 2.0},
    {"type": "boolean", "default": False},
    {"type": "string", "enum": ["a", ""]},
    {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"], "default": "b"},
    {"type": "string", "oneOf": TITLED, "default": "a"},
    {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 0, "maxItems": 9},
    {"type": "array", "items": {"anyOf": TITLED}, "default": []},
    {"type": "array", "items": {"type": "string", "anyOf": TITLED}, "uniqueItems": True},
    # annotations that the protocol does not have say nothing about the answer
    {
        "type": "string",
        "examples": ["a"],
        "$comment": "x",
        "x-order": 1,
        "deprecated": True,
        "readOnly": True,
    },
    {"type": "string", "oneOf": [{"const": "a", "title": "A", "description": "first"}]},
]


@pytest.mark.shows("F2", "F3")
@pytest.mark.parametrize("schema", GOOD)
def test_every_kind_of_field_is_read(schema: dict[str, Any]) -> None:
    assert len(form_of(schema).fields) == 1


REFUSED: list[tuple[str, object]] = [
    ("type", None),
    ("type", "string"),
    ("type", []),
    ("type", {}),
    ("type", {"type": "null"}),
    ("type", {"type": "file"}),
    ("type", {"type": ["string", "null"]}),
    ("type", {"type": {}}),
    ("type", {"enum": ["a"]}),
    ("type", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    ("nested", {"type": "object"}),
    ("nested", {"type": "object", "properties": {"y": {"type": "string"}}}),
    ("nested", {"properties": {}}),
    ("ref", {"$ref": "#/$defs/y"}),
    ("ref", {"type": "string", "$ref": "#/$defs/y"}),
    ("ref", {"type": "string", "$defs": {}}),
    ("array", {"type": "array"}),
    ("keyword_value", {"type": "array", "items": True}),
    ("array", {"type": "array", "items": {}}),
    ("array", {"type": "array", "items": {"type": "string"}}),
    ("array", {"type": "array", "items": {"type": "integer", "enum": [1]}}),
    ("array", {"type": "array", "items": {"enum": ["a"]}}),
    ("array", {"type": "array", "items": {"type": "object", "properties": {}}}),
    ("array", {"type": "array", "items": {"$ref": "#"}}),
    ("array", {"type": "array", "items": {"type": "string", "enum": ["a"], "anyOf": TITLED}}),
    ("keyword", {"type": "array", "items": {"oneOf": TITLED, "type": "string", "enum": ["a"]}}),
    ("keyword", {"type": "array", "items": {"anyOf": TITLED}, "contains": {}}),
    ("keyword", {"type": "string", "const": "a"}),
    ("keyword", {"type": "string", "minimum": 1}),
    ("keyword", {"type": "string", "not": {}}),
    ("keyword", {"type": "string", "enum": ["a"], "minLength": 1}),
    ("keyword", {"type": "string", "enum": ["a"], "format": "email"}),
    ("keyword", {"type": "integer", "multipleOf": 2}),
    ("keyword", {"type": "number", "exclusiveMinimum": 0}),
    ("keyword", {"type": "integer", "enum": [1]}),
    ("keyword", {"type": "boolean", "enum": [True]}),
    ("keyword", {"type": "boolean", "if": {}}),
    ("keyword_value", {"type": "string", "title": 1}),
    ("keyword_value", {"type": "string", "description": None}),
    ("keyword_value", {"type": "string", "minLength": "1"}),
    ("keyword_value", {"type": "string", "minLength": 1.5}),
    ("keyword_value", {"type": "string", "maxLength": True}),
    ("keyword_value", {"type": "string", "pattern": 1}),
    ("keyword_value", {"type": "string", "default": None}),
    ("keyword_value", {"type": "string", "default": 1}),
    ("keyword_value", {"type": "string", "enum": "ab"}),
    ("keyword_value", {"type": "number", "minimum": "0"}),
    ("keyword_value", {"type": "number", "minimum": float("inf")}),
    ("keyword_value", {"type": "number", "maximum": float("nan")}),
    ("keyword_value", {"type": "number", "default": True}),
    ("keyword_value", {"type": "boolean", "default": 0}),
    ("keyword_value", {"type": "boolean", "default": "true"}),
    ("keyword_value", {"type": "array", "items": {"anyOf": TITLED}, "minItems": "1"}),
    ("keyword_value", {"type": "array", "items": {"anyOf": TITLED}, "default": "a"}),
    ("keyword_value", {"type": "array", "items": {"anyOf": "a"}}),
    ("bounds", {"type": "string", "minLength": 2, "maxLength": 1}),
    ("bounds", {"type": "string", "minLength": -1}),
    ("bounds", {"type": "string", "maxLength": -1}),
    ("bounds", {"type": "number", "minimum": 1, "maximum": 0.5}),
    ("bounds", {"type": "array", "items": {"anyOf": TITLED}, "minItems": 2, "maxItems": 1}),
    ("bounds", {"type": "array", "items": {"anyOf": TITLED}, "minItems": 3}),
    ("format", {"type": "string", "format": "ipv4"}),
    ("format", {"type": "string", "format": "password"}),
    ("format", {"type": "string", "format": ""}),
    ("options", {"type": "string", "enum": []}),
    ("options", {"type": "string", "enum": ["a", "a"]}),
    ("options", {"type": "string", "enum": ["a", 1]}),
    ("options", {"type": "string", "enum": [["a"]]}),
    ("options", {"type": "string", "enum": ["a"], "enumNames": ["A", "B"]}),
    ("options", {"type": "string", "enum": ["a"], "enumNames": [1]}),
    ("options", {"type": "string", "enum": ["a"], "oneOf": TITLED}),
    ("options", {"type": "string", "oneOf": []}),
    ("options", {"type": "string", "oneOf": [{"const": "a"}]}),
    ("options", {"type": "string", "oneOf": [{"title": "A"}]}),
    ("options", {"type": "string", "oneOf": ["ab"]}),
    ("options", {"type": "string", "oneOf": [None]}),
    ("options", {"type": "string", "oneOf": [*TITLED, {"const": "a", "title": "again"}]}),
    ("keyword_value", {"type": "string", "oneOf": [{"const": 1, "title": "A"}]}),
    ("keyword_value", {"type": "string", "oneOf": [{"const": "a", "title": None}]}),
    ("keyword", {"type": "string", "oneOf": [{"const": "a", "title": "A", "enum": ["b"]}]}),
    ("default", {"type": "string", "default": "a", "minLength": 2}),
    ("default", {"type": "string", "default": "a", "format": "email"}),
    ("default", {"type": "string", "default": "a", "pattern": "b"}),
    ("default", {"type": "string", "default": "c", "oneOf": TITLED}),
    ("default", {"type": "integer", "default": 1.5}),
    ("default", {"type": "integer", "default": 5, "maximum": 4}),
    ("default", {"type": "array", "items": {"anyOf": TITLED}, "default": ["c"]}),
    ("default", {"type": "array", "items": {"anyOf": TITLED}, "default": [["a"]]}),
    ("default", {"type": "array", "items": {"anyOf": TITLED}, "default": ["a"], "minItems": 2}),
]


@pytest.mark.shows("F1", "F2", "F3")
@pytest.mark.parametrize(("rule", "schema"), REFUSED)
def test_what_the_protocol_does_not_allow_is_refused_by_rule(rule: str, schema: object) -> None:
    assert rule_of(schema) == rule


@pytest.mark.shows("F3")
@pytest.mark.parametrize(
    ("rule", "schema"),
    [
        ("keyword", {"type": "string", "oneOf": TITLED}),
        ("array", {"type": "array", "items": {"type": "string", "enum": ["a"]}}),
        ("array", {"type": "array", "items": {"anyOf": TITLED}}),
    ],
)
def test_the_first_revision_has_no_titled_and_no_multiple_choice(rule: str, schema: object) -> None:
    assert rule_of(schema, Revision.JUNE_2025) == rule


@pytest.mark.shows("F2")
@pytest.mark.parametrize("revision", [Revision.JUNE_2025, Revision.JULY_2026])
def test_a_pattern_is_ignored_where_the_revision_has_none(revision: Revision) -> None:
    (field,) = form_of({"type": "string", "pattern": "(?=never compiled)"}, revision).fields
    assert field.pattern is None


@pytest.mark.shows("F8")
def test_two_thousand_options_are_allowed_and_no_more() -> None:
    values = [str(n) for n in range(2001)]
    titled = [{"const": value, "title": value} for value in values]
    assert form_of({"type": "string", "enum": values[:2000]})
    assert rule_of({"type": "string", "enum": values}) == "options"
    assert rule_of({"type": "string", "oneOf": titled}) == "options"
    assert rule_of({"type": "array", "items": {"anyOf": titled}}) == "options"
    assert form_of({"type": "string", "oneOf": titled}, limits=Limits(options=2001))
