"""Forms from Python types: what goes in, what is asked, and what comes out."""

from __future__ import annotations

import dataclasses
import datetime as dt
from enum import Enum, StrEnum
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import pytest
from annotated_types import Ge, MaxLen, MinLen
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel, field_validator, model_validator

from handraise.errors import FormError
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
    read_answer,
)
from handraise.revisions import Revision


class Size(StrEnum):
    SMALL = "s"
    MEDIUM = "m"


class Level(Enum):
    LOW = 1
    HIGH = 2


class Order(BaseModel):
    name: str = Field(min_length=1, max_length=40, title="Your name", description="As on the door")
    size: Size
    level: Level = Level.LOW
    count: int = Field(default=1, ge=1, lt=100)
    extras: list[Literal["milk", "sugar"]] = Field(default_factory=list, max_length=1)
    gift: bool = False
    note: str | None = None
    at: dt.date = Field(alias="deliveryDay")

    @field_validator("name")
    @classmethod
    def no_shouting(cls, name: str) -> str:
        if name.isupper():
            raise ValueError("Please do not shout.")
        return name

    @model_validator(mode="after")
    def small_gifts(self) -> Order:
        if self.gift and self.size is Size.MEDIUM:
            raise ValueError("Only small ones can be a gift.")
        return self


GOOD: dict[str, Any] = {"name": "Ada", "size": "s", "deliveryDay": "2026-07-28"}


@pytest.mark.shows("F2", "F3", "F4", "F7")
def test_a_pydantic_model_gives_a_field_for_each_of_its_own() -> None:
    assert Form.of(Order).fields == (
        Text("name", title="Your name", description="As on the door", min_length=1, max_length=40),
        Choice("size", ["s", "m"]),
        Choice("level", ["LOW", "HIGH"], default="LOW", required=False),
        Integer("count", minimum=1, maximum=99, default=1, required=False),
        Choices("extras", ["milk", "sugar"], max_items=1, required=False),
        Flag("gift", default=False, required=False),
        Text("note", required=False),
        Text("deliveryDay", format="date"),
    )


@pytest.mark.shows("F10")
def test_a_pydantic_model_comes_out_as_itself() -> None:
    order = Form.of(Order).read(GOOD | {"level": "HIGH", "extras": ["milk"]})
    assert order == Order(
        name="Ada", size=Size.SMALL, level=Level.HIGH, extras=["milk"], deliveryDay=dt.date(2026, 7, 28)
    )
    assert (order.note, order.gift, order.count) == (None, False, 1)


@pytest.mark.shows("F6")
def test_the_models_own_validators_count_as_rules() -> None:
    form = Form.of(Order)
    assert check_answer(form, GOOD) == ()
    (problem,) = check_answer(form, GOOD | {"name": "ADA"})
    assert (problem.field, problem.rule, problem.message) == ("name", "validator", "Please do not shout.")
    (problem,) = check_answer(form, GOOD | {"gift": True, "size": "m"})
    assert (problem.field, problem.rule) == (None, "validator")
    assert problem.message == "Only small ones can be a gift."


@pytest.mark.shows("F10")
def test_a_strict_model_works_too() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(strict=True, extra="forbid")
        size: Size
        when: dt.datetime
        ratio: float
        tags: set[Size]
        nothing: Optional[int]  # noqa: UP045 - the old spelling has to work as well

    content: Any = {"size": "s", "when": "2026-07-28T10:00:00Z", "ratio": 1, "tags": ["s", "m"]}
    result = Form.of(Strict).read(content)
    assert result == Strict(
        size=Size.SMALL,
        when=dt.datetime(2026, 7, 28, 10, tzinfo=dt.UTC),
        ratio=1.0,
        tags={Size.SMALL, Size.MEDIUM},
        nothing=None,
    )


class Nights(RootModel[Annotated[int, Ge(1)]]):
    @model_validator(mode="after")
    def even(self) -> Nights:
        if self.root % 2:
            raise ValueError("Nights come in pairs.")
        return self


class Colour(RootModel[Literal["red", "blue"]]):
    root: Literal["red", "blue"] = "blue"


@pytest.mark.shows("F10")
def test_a_model_of_one_value_is_one_field_and_comes_out_as_itself() -> None:
    form = Form.of(Nights, name="nights")
    assert form.fields == (Integer("nights", minimum=1),)
    assert read_answer(form, {"nights": 2}) == (Nights(2), ())
    (problem,) = check_answer(form, {"nights": 3})
    assert (problem.rule, problem.message) == ("validator", "Nights come in pairs.")
    assert read_answer(Form.of(RootModel[str]), {"answer": "x"}) == (RootModel[str]("x"), ())


def test_a_model_of_one_value_has_its_own_default() -> None:
    form = Form.of(Colour)
    assert form.fields == (Choice("answer", ["red", "blue"], default="blue", required=False),)
    assert read_answer(form, {}) == (Colour("blue"), ())
    assert read_answer(form, {"answer": "red"}) == (Colour("red"), ())
    assert read_answer(Form.of(RootModel[dt.date | None]), {}) == (RootModel[dt.date | None](None), ())


def test_a_model_around_what_no_field_can_ask_for_is_refused() -> None:
    with pytest.raises(FormError, match="multiple choice"):
        Form.of(RootModel[list[str]])


def test_a_model_with_alias_choices_is_refused() -> None:
    class Odd(BaseModel):
        x: int = Field(validation_alias=AliasChoices("a", "b"))

    with pytest.raises(FormError, match=r"^x: .*alias"):
        Form.of(Odd)


@dataclasses.dataclass
class Trip:
    where: Annotated[str, MinLen(2)]
    nights: Annotated[int, Ge(1)]
    budget: float | None
    level: Level = Level.HIGH
    tags: list[Level] = dataclasses.field(default_factory=lambda: [Level.LOW])
    secret_of_ours: int = dataclasses.field(default=7, init=False)

    def __post_init__(self) -> None:
        if self.where == "home":
            raise ValueError("You are there already.")


@pytest.mark.shows("F4", "F5", "F7")
def test_a_dataclass_gives_a_field_for_each_of_its_own() -> None:
    assert Form.of(Trip).fields == (
        Text("where", min_length=2),
        Integer("nights", minimum=1),
        Number("budget", required=False),
        Choice("level", ["LOW", "HIGH"], default="HIGH", required=False),
        Choices("tags", ["LOW", "HIGH"], default=["LOW"], required=False),
    )


@pytest.mark.shows("F10")
def test_a_dataclass_comes_out_as_itself_with_its_own_defaults() -> None:
    assert Form.of(Trip).read({"where": "Rome", "nights": 3}) == Trip("Rome", 3, None)
    full: Any = {"where": "Rome", "nights": 3, "budget": 1, "level": "LOW", "tags": []}
    assert Form.of(Trip).read(full) == Trip("Rome", 3, 1.0, Level.LOW, [])


@pytest.mark.shows("F6")
def test_what_a_dataclass_refuses_when_it_is_made_is_a_problem() -> None:
    (problem,) = check_answer(Form.of(Trip), {"where": "home", "nights": 1})
    assert (problem.rule, problem.message) == ("validator", "You are there already.")


class Address(TypedDict):
    street: str
    zip: Annotated[str, MaxLen(5)]
    floor: NotRequired[int]


@pytest.mark.shows("F10")
def test_a_typed_dict_comes_out_as_a_dict_without_what_was_not_answered() -> None:
    form = Form.of(Address)
    assert form.fields == (Text("street"), Text("zip", max_length=5), Integer("floor", required=False))
    assert form.read({"street": "A", "zip": "1"}) == {"street": "A", "zip": "1"}
    assert form.read({"street": "A", "zip": "1", "floor": 2}) == {"street": "A", "zip": "1", "floor": 2}


@pytest.mark.shows("F10")
@pytest.mark.parametrize(
    ("source", "answer", "value"),
    [
        (Size, "s", Size.SMALL),
        (Level, "HIGH", Level.HIGH),
        (Literal["a", "b"], "b", "b"),
        (Literal[1, 2], "2", 2),
        (list[Size], ["m"], [Size.MEDIUM]),
        (set[Level], ["LOW"], {Level.LOW}),
        (str, "x", "x"),
        (int, 3, 3),
        (float, 3, 3.0),
        (bool, False, False),
        (dt.date, "2026-07-28", dt.date(2026, 7, 28)),
        (dt.datetime, "2026-07-28T10:00:00z", dt.datetime(2026, 7, 28, 10, tzinfo=dt.UTC)),
        (Annotated[int, Ge(0)], 0, 0),
        (int | None, 4, 4),
    ],
)
def test_a_single_type_comes_out_as_its_value(source: Any, answer: Any, value: object) -> None:
    form = Form.of(source)
    assert check_answer(form, {"answer": answer}) == ()
    result = form.read({"answer": answer})
    assert (result, type(result)) == (value, type(value))


def test_the_field_of_a_single_type_can_be_named() -> None:
    form = Form.of(int | None, name="count")
    assert form.fields == (Integer("count", required=False),)
    assert form.read({}) is None


def book(
    room: str, nights: int = 1, *, view: Literal["sea", "street"] | None = None, ctx: object = None
) -> None:
    """Book a room."""


@pytest.mark.shows("F5")
def test_a_functions_parameters_come_out_as_its_keyword_arguments() -> None:
    form = Form.from_parameters(book, skip=["ctx"])
    assert form.fields == (
        Text("room"),
        Integer("nights", default=1, required=False),
        Choice("view", ["sea", "street"], required=False),
    )
    assert form.read({"room": "12"}) == {"room": "12", "nights": 1, "view": None}


def test_a_function_that_cannot_be_asked_for_is_refused_by_parameter() -> None:
    def untyped(x) -> None: ...  # type: ignore[no-untyped-def]

    def greedy(*args: int) -> None: ...

    with pytest.raises(FormError, match=r"^ctx: no field can ask for object"):
        Form.from_parameters(book)
    with pytest.raises(FormError, match=r"^x: this parameter has no annotation"):
        Form.from_parameters(untyped)
    with pytest.raises(FormError, match=r"^args: \*args and \*\*kwargs cannot be asked for"):
        Form.from_parameters(greedy)


def test_an_annotation_that_cannot_be_resolved_is_refused() -> None:
    @dataclasses.dataclass
    class Unresolved:
        x: Nowhere  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(FormError, match="Unresolved has an annotation that cannot be resolved"):
        Form.of(Unresolved)


@pytest.mark.shows("F4")
@pytest.mark.parametrize("revision", [Revision.NOVEMBER_2025, Revision.JULY_2026])
def test_falsy_defaults_are_sent_and_none_is_no_default(revision: Revision) -> None:
    form = Form.from_fields(
        text=(str, ""),
        whole=(int, 0),
        part=(float, 0.0),
        flag=(bool, False),
        many=(list[Size], []),
        none=(str, None),
    )
    properties = dump_form(form, revision)["properties"]
    defaults = {name: schema["default"] for name, schema in properties.items() if "default" in schema}
    assert defaults == {"text": "", "whole": 0, "part": 0.0, "flag": False, "many": []}
    assert "required" not in dump_form(form, revision)
