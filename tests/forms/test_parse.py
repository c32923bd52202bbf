from __future__ import annotations

from typing import Any

import pytest

from handraise.errors import WireError
from handraise.forms import (
    Choice,
    Choices,
    Flag,
    Integer,
    Limits,
    Number,
    Option,
    Text,
    check_form,
    parse_form,
)
from handraise.revisions import Revision

B = Revision.NOVEMBER_2025


def rule_of(schema: object, limits: Limits | None = None) -> str:
    with pytest.raises(WireError) as refused:
        parse_form(schema, B, limits or Limits())
    return refused.value.rule


def schema_of(**properties: object) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.shows("F2", "F3", "F7")
def test_a_requested_schema_becomes_fields_in_their_order() -> None:
    schema = schema_of(
        z={"type": "string", "title": "Z", "description": "Last letter", "minLength": 1, "maxLength": 9},
        y={"type": "string", "format": "date", "pattern": "^2", "default": "2026-01-01"},
        x={"type": "number", "minimum": 0.5, "default": 1},
        w={"type": "integer", "maximum": 9},
        v={"type": "boolean", "default": False},
        u={"type": "string", "enum": ["a", "b"]},
        t={"type": "string", "enum": ["a"], "enumNames": ["A"]},
        s={"type": "string", "oneOf": [{"const": "a", "title": "A"}], "default": "a"},
        r={
            "type": "array",
            "items": {"anyOf": [{"const": "a", "title": "A"}]},
            "minItems": 1,
            "default": ["a"],
        },
    )
    form = parse_form({**schema, "required": ["z", "r"]}, B)
    assert form.fields == (
        Text("z", title="Z", description="Last letter", min_length=1, max_length=9),
        Text("y", format="date", pattern="^2", default="2026-01-01", required=False),
        Number("x", minimum=0.5, default=1, required=False),
        Integer("w", maximum=9, required=False),
        Flag("v", default=False, required=False),
        Choice("u", ["a", "b"], required=False),
        Choice("t", {"a": "A"}, required=False, enum_names=True),
        Choice("s", [Option("a", "A")], default="a", required=False),
        Choices("r", {"a": "A"}, min_items=1, default=["a"]),
    )


@pytest.mark.shows("F9")
def test_an_empty_form_is_a_form() -> None:
    assert parse_form({"type": "object", "properties": {}}, B).fields == ()


@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        "object",
        {},
        {"type": "object"},
        {"type": "string", "properties": {}},
        {"type": ["object"], "properties": {}},
        {"type": "object", "properties": []},
        {"properties": {}},
        True,
    ],
)
@pytest.mark.shows("F1")
def test_only_an_object_with_properties_is_a_form(schema: object) -> None:
    assert rule_of(schema) == "schema"


@pytest.mark.parametrize(
    ("rule", "extra"),
    [
        ("ref", {"$ref": "#"}),
        ("ref", {"$defs": {"y": {}}}),
        ("keyword", {"anyOf": []}),
        ("keyword", {"patternProperties": {}}),
        ("keyword", {"minProperties": 1}),
        ("keyword_value", {"additionalProperties": {"type": "string"}}),
        ("keyword_value", {"required": "x"}),
        ("keyword_value", {"required": {"x": True}}),
        ("keyword_value", {"$schema": 1}),
        ("required", {"required": ["y"]}),
        ("required", {"required": [1]}),
        ("required", {"required": [["x"]]}),
    ],
)
@pytest.mark.shows("F1")
def test_the_form_itself_is_held_to_the_rules(rule: str, extra: dict[str, Any]) -> None:
    assert rule_of({**schema_of(x={"type": "string"}), **extra}) == rule


def test_what_generators_add_around_a_form_is_ignored() -> None:
    noise = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Model",
        "description": "A model.",
        "additionalProperties": False,
        "x-noise": [[[]]],
    }
    assert parse_form({**schema_of(x={"type": "string"}), **noise}, B).fields == (Text("x", required=False),)


@pytest.mark.shows("F8")
def test_fifty_fields_are_allowed_and_no_more() -> None:
    fields = {f"x{n}": {"type": "string"} for n in range(51)}
    assert rule_of(schema_of(**fields)) == "fields"
    assert parse_form(schema_of(**dict(list(fields.items())[:50])), B).fields
    assert len(parse_form(schema_of(**fields), B, Limits(fields=51)).fields) == 51


def test_a_form_does_not_change_when_the_schema_it_came_from_does() -> None:
    schema = {**schema_of(x={"type": "string", "title": "before"}), "required": ["x"]}
    form = parse_form(schema, B)
    schema["properties"]["x"]["title"] = "after"
    schema["properties"]["y"] = {"type": "string"}
    schema["required"].append("y")
    assert form.fields == (Text("x", title="before"),)


def test_every_field_that_breaks_a_rule_is_named() -> None:
    problems = check_form(
        schema_of(a={"type": "object"}, b={"type": "string"}, c={"type": "string", "format": "ipv4"}), B
    )
    assert [(problem.field, problem.rule) for problem in problems] == [("a", "nested"), ("c", "format")]
    assert check_form(schema_of(b={"type": "string"}), B) == ()


def test_a_problem_of_the_whole_form_is_named_when_no_field_is_wrong() -> None:
    (problem,) = check_form({**schema_of(), "required": ["x"]}, B)
    assert (problem.field, problem.rule) == (None, "required")
    (problem,) = check_form([], B)
    assert (problem.field, problem.rule, problem.kind) == (None, "schema", "array")
