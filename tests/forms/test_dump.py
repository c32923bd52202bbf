from __future__ import annotations

from typing import Any

import pytest

from handraise.errors import NotSupported
from handraise.forms import (
    Choice,
    Choices,
    Flag,
    Form,
    Integer,
    Number,
    Text,
    check_answer,
    dump_form,
    parse_form,
)
from handraise.revisions import Revision

A, B, C = Revision.JUNE_2025, Revision.NOVEMBER_2025, Revision.JULY_2026


def property_on(revision: Revision, field: Any) -> dict[str, Any]:
    (dumped,) = dump_form(Form.by_hand(field), revision)["properties"].values()
    assert isinstance(dumped, dict)
    return dumped


@pytest.mark.shows("F2", "F7")
def test_a_form_is_written_in_the_authors_order() -> None:
    form = Form.by_hand(Text("z", title="Z"), Flag("a", required=False), Integer("m", minimum=0))
    assert list(dump_form(form, B)["properties"]) == ["z", "a", "m"]
    assert dump_form(form, B)["required"] == ["z", "m"]


@pytest.mark.shows("F2", "F3")
@pytest.mark.parametrize(
    ("field", "said"),
    [
        (Text("x", min_length=1, max_length=9), {"type": "string", "minLength": 1, "maxLength": 9}),
        (Text("x", format="date"), {"type": "string", "format": "date"}),
        (Text("x", title="T", description="D"), {"type": "string", "title": "T", "description": "D"}),
        (Number("x", minimum=0.5, maximum=2), {"type": "number", "minimum": 0.5, "maximum": 2}),
        (Integer("x", minimum=0, maximum=5), {"type": "integer", "minimum": 0, "maximum": 5}),
        (
            Choices("x", ["a", "b"], min_items=1, max_items=2),
            {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "maxItems": 2},
        ),
    ],
)
def test_every_bound_is_told_to_the_client(field: Any, said: dict[str, Any]) -> None:
    assert property_on(B, field) == said
    assert property_on(C, field) == said


@pytest.mark.shows("F9")
@pytest.mark.parametrize("revision", Revision)
def test_an_empty_form_asks_for_nothing(revision: Revision) -> None:
    assert dump_form(Form.by_hand(), revision) == {"type": "object", "properties": {}}


@pytest.mark.shows("F3", "F4")
@pytest.mark.parametrize(
    "field",
    [
        Text("x", default=""),
        Text("x", default="a", pattern="^a"),
        Number("x", default=0.0),
        Integer("x", default=0),
        Choice("x", ["a"], default="a"),
    ],
)
def test_the_first_revision_has_defaults_on_flags_only(field: Any) -> None:
    assert property_on(B, field)["default"] == field.default
    assert property_on(C, field)["default"] == field.default
    assert "default" not in property_on(A, field)


@pytest.mark.shows("F4")
@pytest.mark.parametrize("revision", Revision)
def test_a_flags_default_is_sent_everywhere_also_when_it_is_false(revision: Revision) -> None:
    assert property_on(revision, Flag("x", default=False)) == {"type": "boolean", "default": False}


@pytest.mark.shows("F3")
def test_only_one_revision_has_patterns() -> None:
    field = Text("x", pattern="^a$")
    assert property_on(B, field)["pattern"] == "^a$"
    assert property_on(A, field) == property_on(C, field) == {"type": "string"}


@pytest.mark.shows("F3")
@pytest.mark.parametrize("revision", Revision)
def test_what_cannot_be_sent_is_still_checked(revision: Revision) -> None:
    form = Form.by_hand(Text("x", pattern="^a$"))
    dump_form(form, revision)
    assert [problem.rule for problem in check_answer(form, {"x": "b"})] == ["pattern"]


@pytest.mark.shows("F3")
def test_titles_go_out_as_each_revision_has_them() -> None:
    field = Choice("x", {"s": "Small", "m": "Medium"})
    titled = [{"const": "s", "title": "Small"}, {"const": "m", "title": "Medium"}]
    assert property_on(B, field) == property_on(C, field) == {"type": "string", "oneOf": titled}
    old = {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"]}
    assert property_on(A, field) == old
    assert property_on(B, Choice("x", {"s": "Small", "m": "Medium"}, enum_names=True)) == old


@pytest.mark.shows("F3")
def test_a_multiple_choice_goes_out_where_there_is_one() -> None:
    plain = Choices("x", ["a", "b"], min_items=1, max_items=2, default=["b"])
    items = {"type": "string", "enum": ["a", "b"]}
    expected = {"type": "array", "minItems": 1, "maxItems": 2, "items": items, "default": ["b"]}
    assert property_on(B, plain) == property_on(C, plain) == expected
    titled = property_on(B, Choices("x", {"a": "A"}))
    assert titled == {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}


@pytest.mark.shows("F3", "N2")
def test_a_multiple_choice_cannot_be_asked_on_the_first_revision() -> None:
    with pytest.raises(NotSupported, match="x: a multiple choice cannot be asked on 2025-06-18") as refused:
        property_on(A, Choices("x", ["a", "b"]))
    assert refused.value.mode == "form"
    assert "show a choice of several options" in refused.value.public


@pytest.mark.shows("F5")
@pytest.mark.parametrize("revision", Revision)
def test_the_same_form_is_rendered_once(revision: Revision) -> None:
    form = Form.by_hand(Text("x"))
    assert dump_form(form, revision) is dump_form(form, revision)


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {}},
        {"properties": {}, "required": [], "type": "object"},
        {
            "type": "object",
            "properties": {
                "b": {"title": "B", "type": "string", "minLength": 0},
                "a": {"items": {"enum": ["x"], "type": "string"}, "type": "array", "default": []},
            },
            "required": ["a", "b"],
        },
    ],
)
def test_what_was_parsed_is_dumped_as_it_was_down_to_the_order_of_keys(schema: dict[str, Any]) -> None:
    assert repr(dump_form(parse_form(schema, B), B)) == repr(schema)


def test_a_dump_shares_nothing_with_what_was_parsed() -> None:
    schema = {
        "type": "object",
        "properties": {
            "x": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
            "y": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "default": ["a"]},
        },
    }
    form = parse_form(schema, B)
    before = repr(schema)
    schema["properties"]["x"]["oneOf"].clear()  # type: ignore[index]
    schema["properties"]["y"]["items"]["anyOf"].clear()  # type: ignore[index]
    schema["properties"]["y"]["default"].clear()  # type: ignore[index]
    assert repr(dump_form(form, B)) == before
