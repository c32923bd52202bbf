"""The forms behind the shortcuts: what is sent for an author's own values, and how they come back."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Any, Literal

import pytest

from handraise.errors import FormError
from handraise.forms import ANSWER
from handraise.server.question_arguments import choice_form, choices_form


class Mixed(Enum):
    NUMBER = 1
    TEXT = "1"
    OTHER = (1,)


class Size(StrEnum):
    SMALL = "s"
    LARGE = "l"


class Old(str, Enum):  # noqa: UP042 - what a StrEnum was before there was one
    RED = "r"


@pytest.mark.parametrize(
    ("options", "values"),
    [
        (["2", 7], ["2", 7]),
        ([7, "1", "#1", 8], [7, "1", "#1", 8]),
        ({None: "New", "1": "Website"}, [None, "1"]),
        ([True, False], [True, False]),
        (Mixed, [Mixed.NUMBER, Mixed.TEXT, Mixed.OTHER]),
        ({Size.SMALL: "Small", "xl": "Huge"}, [Size.SMALL, "xl"]),
        ([Old.RED, "blue"], [Old.RED, "blue"]),
        (range(3), [0, 1, 2]),
        (Literal["s", 7], ["s", 7]),
        ([(1, 2), (3, 4)], [(1, 2), (3, 4)]),
        (iter("ab"), ["a", "b"]),
    ],
    ids=lambda given: type(given).__name__,
)
def test_every_value_is_told_from_the_others_and_comes_back_as_itself(
    options: Any, values: list[Any]
) -> None:
    form, value_of = choice_form(options)
    names = [option.value for option in form.fields[0].options]  # type: ignore[union-attr]
    assert [value_of({ANSWER: name}) for name in names] == values
    assert [type(value_of({ANSWER: name})) for name in names] == [type(value) for value in values]


def test_what_is_sent_stays_short_and_readable() -> None:
    form, _ = choice_form({None: "New", "1": "Website", "shop": "Shop"})
    sent = [(option.value, option.label) for option in form.fields[0].options]  # type: ignore[union-attr]
    assert sent == [("#1", "New"), ("1", "Website"), ("shop", "Shop")]


@pytest.mark.parametrize("options", ["abc", b"abc", None, 5], ids=repr)
def test_what_is_no_list_of_options_is_refused(options: Any) -> None:
    for make in (choice_form, lambda given: choices_form(given, None, None)):
        with pytest.raises(FormError, match=r"^options: .*a list of values"):
            make(options)


@pytest.mark.parametrize("options", [[], {}, ["a", "a"]], ids=repr)
def test_no_options_and_one_text_twice_are_refused(options: Any) -> None:
    with pytest.raises(FormError, match=r"^answer: "):
        choice_form(options)


def test_pairs_of_values_and_titles_are_told_to_be_a_mapping() -> None:
    with pytest.raises(FormError, match=r"write a mapping, as in dict\(options\)"):
        choice_form([("s", "Small"), ("l", "Large")])
