"""A form: made by an author, read from the wire, and what an answer to it becomes."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field as PydanticField

from handraise.errors import WireError
from handraise.forms import (
    Choice,
    Choices,
    Flag,
    Form,
    Integer,
    Limits,
    Number,
    Option,
    Text,
    check_form,
    dump_form,
    parse_form,
)
from handraise.revisions import Revision

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["name"],
}


def test_a_form_from_the_wire_reads_an_answer_as_it_is_in_the_forms_order() -> None:
    form = parse_form(SCHEMA, Revision.NOVEMBER_2025)
    assert list(form.read({"count": 2, "name": "Ada"}).items()) == [("name", "Ada"), ("count", 2)]
    assert form.read({"name": "Ada"}) == {"name": "Ada"}


def test_a_form_made_by_hand_reads_a_key_for_each_field() -> None:
    form = Form.by_hand(Text("name"), Integer("count", required=False, default=3))
    assert form.read({"name": "Ada"}) == {"name": "Ada", "count": None}


@pytest.mark.shows("F6")
def test_two_point_zero_is_the_integer_two() -> None:
    form = Form.by_hand(Integer("count"))
    value = form.read({"count": 2.0})["count"]
    assert (value, type(value)) == (2, int)


@pytest.mark.shows("F5")
def test_the_same_type_gives_the_same_form_and_the_same_rendering() -> None:
    @dataclasses.dataclass
    class Contact:
        name: str

    form = Form.of(Contact)
    assert Form.of(Contact) is form
    assert Form.of(form) is form
    assert dump_form(Form.of(Contact), Revision.JULY_2026) is dump_form(form, Revision.JULY_2026)
    assert Form.of(Literal["a", "b"]) is Form.of(Literal["a", "b"])
    assert Form.of(str) is not Form.of(str, name="other")


def test_a_type_that_cannot_be_remembered_works_all_the_same() -> None:
    annotation: Any = Annotated[int, PydanticField(ge=1, json_schema_extra={"a": []})]
    assert Form.of(annotation).fields == Form.of(annotation).fields == (Integer("answer", minimum=1),)


@pytest.mark.shows("F5")
def test_keywords_take_types_defaults_options_and_fields() -> None:
    form = Form.from_fields(
        name=str,
        age=(int, 0),
        size={"s": "Small"},
        unit=["cm", "in"],
        confirm=Flag("ignored", title="Sure?"),
    )
    assert form.fields == (
        Text("name"),
        Integer("age", default=0, required=False),
        Choice("size", {"s": "Small"}),
        Choice("unit", ["cm", "in"]),
        Flag("confirm", title="Sure?"),
    )
    content: Any = {"name": "Ada", "size": "s", "unit": "cm", "confirm": True}
    assert form.read(content) == {"name": "Ada", "age": 0, "size": "s", "unit": "cm", "confirm": True}


def test_forms_with_the_same_fields_are_equal() -> None:
    assert parse_form(SCHEMA, Revision.NOVEMBER_2025) == Form.by_hand(
        Text("name"), Integer("count", required=False)
    )
    assert Form.by_hand(Text("name")) != Form.by_hand(Text("name", title="Name"))
    assert Form.by_hand(Text("name")) != "name"
    assert len({Form.by_hand(Text("name")), Form.by_hand(Text("name"))}) == 1


def test_a_form_shows_the_names_of_its_fields() -> None:
    assert repr(Form.by_hand(Text("name"), Flag("ok"))) == "Form(name, ok)"


def test_reading_an_answer_that_the_type_refuses_is_an_error() -> None:
    form = Form.from_fields(even=Annotated[int, PydanticField(multiple_of=2)])
    with pytest.raises(WireError, match="Enter a multiple of 2"):
        form.read({"even": 3})


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
