from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, StrEnum, auto
from enum import Flag as EnumFlag
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NewType, TypedDict

import pytest
from annotated_types import Ge, Gt, Lt, MaxLen, MultipleOf, Not, Predicate
from pydantic import AfterValidator, AnyUrl, BaseModel, EmailStr, HttpUrl, SecretStr, StringConstraints

from handraise.errors import FormError
from handraise.forms import Choice, Choices, Flag, Form, Integer, Number, Option, Text, check_answer


class Size(StrEnum):
    SMALL = auto()
    MEDIUM = auto()


class Priority(Enum):
    LOW = (1, "Can wait")
    HIGH = (2, "Now")

    @property
    def label(self) -> str:
        return self.value[1]


class Inner(BaseModel):
    x: int


@dataclass
class Nested:
    inner: Inner


class Loose(TypedDict):
    x: int


class Pair(NamedTuple):
    a: int
    b: int


UserId = NewType("UserId", int)


def even(number: int) -> int:
    if number % 2:
        raise ValueError("Enter an even number.")
    return number


def field_of(annotation: Any, *default: object) -> Any:
    (field,) = Form.from_fields(x=(annotation, *default)).fields
    return field


@pytest.mark.shows("F2", "F3")
@pytest.mark.parametrize(
    ("annotation", "field"),
    [
        (str, Text("x")),
        (bool, Flag("x")),
        (int, Integer("x")),
        (float, Number("x")),
        (dt.date, Text("x", format="date")),
        (dt.datetime, Text("x", format="date-time")),
        (EmailStr, Text("x", format="email")),
        (AnyUrl, Text("x", format="uri")),
        (HttpUrl, Text("x", format="uri")),
        (UserId, Integer("x")),
        (Size, Choice("x", ["small", "medium"])),
        (Priority, Choice("x", [Option("LOW", "Can wait"), Option("HIGH", "Now")])),
        (Literal["a", "b"], Choice("x", ["a", "b"])),
        (Literal["a", None], Choice("x", ["a"], required=False)),
        (Annotated[Literal["a", "b"], {"a": "First"}], Choice("x", [Option("a", "First"), Option("b")])),
        (list[Size], Choices("x", ["small", "medium"])),
        (tuple[Size, ...], Choices("x", ["small", "medium"])),
        (Sequence[Literal["a"]], Choices("x", ["a"])),
        (frozenset[Size] | None, Choices("x", ["small", "medium"], required=False)),
        (list[Annotated[Literal["a"], {"a": "First"}]], Choices("x", {"a": "First"})),
        (Annotated[int, Gt(1), Lt(5.5)], Integer("x", minimum=2, maximum=5)),
        (Annotated[int, Gt(1.5)], Integer("x", minimum=2)),
        (Annotated[float, Gt(0)], Number("x", minimum=math.nextafter(0.0, math.inf))),
        (Annotated[EmailStr, MaxLen(60)], Text("x", format="email", max_length=60)),
    ],
)
def test_each_type_becomes_its_kind_of_field(annotation: Any, field: Any) -> None:
    assert field_of(annotation) == field


@pytest.mark.shows("F4")
@pytest.mark.parametrize(
    ("annotation", "default", "sent"),
    [
        (Size, Size.MEDIUM, "medium"),
        (Priority, Priority.LOW, "LOW"),
        (Literal[1, 2], 2, "2"),
        (list[Size], [Size.SMALL], ("small",)),
        (dt.date, dt.date(2026, 7, 28), "2026-07-28"),
        (dt.datetime, dt.datetime(2026, 7, 28, tzinfo=dt.UTC), "2026-07-28T00:00:00+00:00"),
        (HttpUrl, HttpUrl("https://example.org/"), "https://example.org/"),
        (float, 0.0, 0.0),
    ],
)
def test_a_default_goes_out_as_the_wire_has_it(annotation: Any, default: object, sent: object) -> None:
    assert field_of(annotation, default).default == sent


@pytest.mark.parametrize(
    ("annotation", "default", "complaint"),
    [
        (Size, "small", "not one of the options"),
        (Literal[1], True, "not one of the options"),
        (dt.datetime, dt.datetime(2026, 7, 28), "time zone"),  # noqa: DTZ001 - that is the point
        (int, 2.5, "default"),
        (str, 5, "default"),
    ],
)
def test_a_default_that_cannot_be_sent_is_refused(annotation: Any, default: object, complaint: str) -> None:
    with pytest.raises(FormError, match=complaint):
        field_of(annotation, default)


@pytest.mark.shows("F1", "F5")
@pytest.mark.parametrize(
    ("annotation", "advice"),
    [
        (Inner, "a form is flat"),
        (Nested, "a form is flat"),
        (Loose, "a form is flat"),
        (dict, "a form is flat"),
        (dict[str, str], "a form is flat"),
        (Mapping[str, int], "a form is flat"),
        (list[Inner], "multiple choice"),
        (list[str], "multiple choice"),
        (list, "multiple choice"),
        (set[int], "multiple choice"),
        (tuple[Size, Size], "multiple choice"),
        (str | int, "one type"),
        (int | str | None, "one type"),
        (bytes, "no field can ask for bytes"),
        (Decimal, "no field can ask for Decimal"),
        (Path, "no field can ask for Path"),
        (dt.time, "no field can ask for time"),
        (Any, "no field can ask for"),
        (object, "no field can ask for object"),
        (Pair, "make it a dataclass"),
        (None, "from a type, not from an object of NoneType"),
        (["a", "b"], "not from an object of list; for options use ask.choose"),
        ({"type": "object"}, "not from an object of dict"),
        (Nested(Inner(x=1)), "not from an object of Nested"),
        ("a string", "not from an object of str"),
    ],
)
def test_what_no_field_can_ask_for_is_refused_with_advice(annotation: Any, advice: str) -> None:
    with pytest.raises(FormError, match=f"^x: .*{advice}") as refused:
        field_of(annotation)
    assert refused.value.field == "x"


@pytest.mark.shows("F1", "S1")
def test_a_secret_is_sent_to_a_page() -> None:
    with pytest.raises(FormError, match=r"^token: .*on a page, with ask\.secret"):
        Form.from_fields(token=SecretStr)


def test_an_enum_without_members_has_no_options() -> None:
    class Empty(EnumFlag):
        pass

    with pytest.raises(FormError, match="no field can ask for Empty"):
        field_of(Empty)


@pytest.mark.shows("F6")
@pytest.mark.parametrize(
    ("annotation", "answer", "message"),
    [
        (float, 10**400, "Enter a number that is not as big."),
        (Annotated[float, Gt(0)], 10**400, "Enter a number that is not as big."),
        (Annotated[int, MultipleOf(5)], 7, "Enter a multiple of 5."),
        (Annotated[int, MultipleOf(5)], 10**400 + 1, "Enter a multiple of 5."),
        (Annotated[int, MultipleOf(0.75)], 10**400, "Enter a multiple of 0.75."),
        (Annotated[float, MultipleOf(0.1)], 0.25, "Enter a multiple of 0.1."),
        (Annotated[dt.date, Ge(dt.date(2026, 1, 1))], "2025-12-31", "Enter at least 2026-01-01."),
        (dt.date, "0000-01-01", "Enter a date from the year 1 on."),
        (dt.datetime, "0000-01-01T00:00:00Z", "Enter a date and time from the year 1 on."),
        (dt.datetime, "9999-12-31T23:59:60Z", "Enter a date and time from the year 1 on."),
    ],
)
def test_what_the_wire_cannot_say_is_checked_when_the_answer_is_read(
    annotation: Any, answer: Any, message: str
) -> None:
    (problem,) = check_answer(Form.from_fields(x=annotation), {"x": answer})
    assert (problem.field, problem.rule, problem.message) == ("x", "validator", message)


def test_options_that_would_look_the_same_on_the_wire_are_refused() -> None:
    class Confusing(Enum):
        A = "B"
        B = 1

    for annotation in (Confusing, Literal["1", 1]):
        with pytest.raises(FormError, match=r"^x: Two options have the same value"):
            field_of(annotation)


def test_a_tenth_is_a_multiple_of_a_tenth_however_floats_count() -> None:
    form = Form.from_fields(x=Annotated[float, MultipleOf(0.1)])
    assert check_answer(form, {"x": 0.3}) == ()
    assert check_answer(form, {"x": 7}) == ()


@pytest.mark.shows("F6", "F8")
def test_a_whole_number_of_any_size_may_have_to_be_a_multiple() -> None:
    form = Form.from_fields(x=Annotated[int, MultipleOf(5)])
    assert check_answer(form, {"x": 10**400}) == ()
    assert form.read({"x": 10**400}) == {"x": 10**400}


@pytest.mark.shows("F6")
def test_a_link_that_the_authors_type_refuses_is_a_problem_without_its_value() -> None:
    (problem,) = check_answer(Form.from_fields(x=HttpUrl), {"x": "ftp://hunter2.example/"})
    assert (problem.field, problem.rule) == ("x", "validator")
    assert "hunter2" not in problem.message


def test_a_leap_second_is_the_first_second_of_the_next_minute() -> None:
    answer: Any = {"answer": "1990-12-31T15:59:60.5-08:00"}
    moment = Form.of(dt.datetime).read(answer)
    assert moment == dt.datetime(1991, 1, 1, 0, 0, 0, 500_000, tzinfo=dt.UTC)


@pytest.mark.shows("F2", "F6")
@pytest.mark.parametrize(
    ("annotation", "wrong", "right", "becomes"),
    [
        (Annotated[int, AfterValidator(even)], 3, 4, 4),
        (Annotated[int | None, Ge(0), AfterValidator(even)], 3, 4, 4),
        (Annotated[int, Predicate(lambda number: number > 3)], 3, 4, 4),
        (Annotated[str, Not(str.islower)], "a", "A", "A"),
        (Annotated[str, StringConstraints(min_length=2, to_upper=True)], "a", "ab", "AB"),
        (Annotated[Size, AfterValidator(lambda size: size)], "huge", "small", Size.SMALL),
    ],
)
def test_the_validators_of_an_annotation_count_as_they_do_in_a_model(
    annotation: Any, wrong: Any, right: Any, becomes: Any
) -> None:
    form = Form.of(annotation)
    assert check_answer(form, {"answer": wrong})
    assert not check_answer(form, {"answer": right})
    assert form.read({"answer": right}) == becomes


@pytest.mark.shows("F4", "F5")
@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        (Annotated[int, MultipleOf(3)], 1),
        (Annotated[int, AfterValidator(even)], 1),
        (Annotated[dt.date, Ge(dt.date(2026, 1, 1))], dt.date(2025, 1, 1)),
    ],
)
def test_a_default_that_would_be_asked_again_is_refused(annotation: Any, default: object) -> None:
    with pytest.raises(FormError, match=r"^x: the default is not a possible answer"):
        field_of(annotation, default)


def test_a_model_runs_its_validators_once() -> None:
    class Doubled(BaseModel):
        number: Annotated[int, AfterValidator(lambda number: number * 2)] | None = None

    assert Form.of(Doubled).read({"number": 2}) == Doubled.model_validate({"number": 2})
