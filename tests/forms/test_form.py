from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field as PydanticField

from handraise.errors import WireError
from handraise.forms import Choice, Flag, Form, Integer, Text, dump_form, parse_form
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
