from __future__ import annotations

import re
from enum import Enum, StrEnum
from typing import Any

import pytest

from handraise.errors import FormError
from handraise.forms import UNSET, Choice, Choices, Flag, Form, Integer, Number, Option, Text, label_of


class Size(StrEnum):
    SMALL = "s"
    MEDIUM = "m"


class Colour(Enum):
    RED = 1
    GREEN = 2

    @property
    def label(self) -> str:
        return self.name.capitalize()


@pytest.mark.shows("F5")
@pytest.mark.parametrize(
    ("source", "options"),
    [
        (["a", "b"], (Option("a"), Option("b"))),
        (("a", Option("b", "B")), (Option("a"), Option("b", "B"))),
        ((value for value in "ab"), (Option("a"), Option("b"))),
        ({"a": "A", "b": "B"}, (Option("a", "A"), Option("b", "B"))),
        (Size, (Option("s"), Option("m"))),
        (Colour, (Option("RED", "Red"), Option("GREEN", "Green"))),
    ],
)
def test_options_come_from_a_list_a_mapping_or_an_enum(source: Any, options: tuple[Option, ...]) -> None:
    assert Choice("x", source).options == options
    assert Choices("x", options).options == options


def test_one_string_is_no_list_of_options() -> None:
    with pytest.raises(FormError, match="a list of values, not one string"):
        Choice("x", "abc")


def test_an_option_is_read_by_its_title_or_else_by_its_value() -> None:
    assert Option("a", "A").label == "A"
    assert Option("a").label == "a"


@pytest.mark.shows("F4")
def test_no_default_is_not_a_falsy_default() -> None:
    assert repr(Text("x").default) == "UNSET"
    assert Text("x", default="").default != UNSET
    assert Flag("x", default=False) != Flag("x")


def test_fields_are_frozen_values() -> None:
    field = Choice("x", ["a"])
    with pytest.raises(AttributeError):
        field.name = "y"  # type: ignore[misc]
    assert field == Choice("x", ["a"])
    assert len({field, Choice("x", ["a"]), Choice("x", ["b"])}) == 2


@pytest.mark.shows("F1", "F5")
@pytest.mark.parametrize(
    ("field", "complaint"),
    [
        (Text("x", min_length=2, max_length=1), "minLength and maxLength leave no possible answer"),
        (Text("x", default=5), "default must be a string"),  # type: ignore[arg-type]
        (Text("x", format="ipv4"), "The format is email, uri, "),  # type: ignore[arg-type]
        (Text("x", pattern="(?=a)"), "lookaround"),
        (Text("x", pattern=re.compile("a", re.IGNORECASE)), "flags"),
        (Text("x", pattern="(?i)a"), "flags"),
        (Text("x", pattern="b(?s-i:a)"), "flags"),
        (Text("x", pattern=re.compile(b"a")), "text, not bytes"),  # type: ignore[arg-type]
        (Text("x", title="\ud800"), "surrogate"),
        (Number("x", minimum=2, maximum=1), "leave no possible answer"),
        (Integer("x", default=3, maximum=2), "default"),
        (Flag("x", default=1), "default must be true or false"),  # type: ignore[arg-type]
        (Choice("x", []), "at least one option"),
        (Choice("x", ["a", "a"]), "same value"),
        (Choice("x", [1]), "text"),  # type: ignore[list-item]
        (Choice("x", ["a"], default="b"), "default"),
        (Choices("x", ["a", "b"], min_items=3), "more options than there are"),
        (Choices("x", ["a"], default=["b"]), "default"),
    ],
)
def test_a_definition_is_checked_when_it_is_made(field: Any, complaint: str) -> None:
    with pytest.raises(FormError, match=complaint):
        Form.by_hand(field)


@pytest.mark.shows("F3")
def test_a_compiled_pattern_is_taken_without_its_flags() -> None:
    form = Form.by_hand(Text("x", pattern=re.compile("^a$")))
    assert form.fields == (Text("x", pattern=re.compile("^a$")),)


@pytest.mark.parametrize("pattern", [r"\(?i", r"[(?i)]", "(?:a)b", "(?P<i>a)", "(?<i>a)"])
def test_a_pattern_that_only_looks_as_if_it_had_flags_is_taken(pattern: str) -> None:
    assert Form.by_hand(Text("x", pattern=pattern)).fields


@pytest.mark.parametrize("wrong", ["x", [Text("x")]])
def test_only_fields_make_a_form_by_hand(wrong: Any) -> None:
    with pytest.raises(FormError, match=r"takes fields, each as an argument"):
        Form.by_hand(wrong)


def test_two_fields_of_one_name_are_refused() -> None:
    with pytest.raises(FormError, match="two fields have the same name"):
        Form.by_hand(Text("x"), Flag("x"))


def test_an_author_is_not_held_to_the_limits_for_strangers() -> None:
    assert len(Form.by_hand(*(Text(f"x{n}") for n in range(30))).fields) == 30
    assert Form.by_hand(Choice("x", [str(n) for n in range(500)])).fields


@pytest.mark.parametrize(
    ("name", "title", "label"),
    [
        ("category", None, "Category"),
        ("team_size", None, "Team size"),
        ("teamSize", None, "Team size"),
        ("due-date", None, "Due date"),
        ("userID", None, "User ID"),
        ("x", "Your name", "Your name"),
        ("größe", None, "größe"),
    ],
)
def test_labels_are_for_people_and_no_wire_names(name: str, title: str | None, label: str) -> None:
    assert label_of(Text(name, title=title)) == label
