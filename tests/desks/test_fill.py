"""From what a person typed to the content of an answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.desks.questions import EVERY_KIND

from handraise.desks import edited, fill, suggest
from handraise.forms import Choices, Flag, Form, Integer, Number, Text, check_answer

GOOD = {"name": "Ada", "count": "3", "ratio": "0.5", "urgent": "no", "size": "m"}


@pytest.mark.shows("F4")
def test_the_servers_suggestions_stand_until_they_are_changed() -> None:
    assert suggest(EVERY_KIND) == {"count": "3", "ratio": "0.5"}
    falsy = Form.by_hand(
        Flag("a", default=False),
        Integer("b", default=0),
        Choices("d", ["x"], default=[]),
        Text("c", default=""),
    )
    assert suggest(falsy) == {"a": "no", "b": "0", "c": "", "d": []}
    assert fill(falsy, suggest(falsy)).content == {"a": False, "b": 0, "c": "", "d": []}
    assert fill(EVERY_KIND, suggest(EVERY_KIND)).content == {"count": 3, "ratio": 0.5}


@pytest.mark.shows("F4")
def test_clearing_a_suggestion_sends_nothing() -> None:
    filled = fill(EVERY_KIND, {**GOOD, "ratio": ""})
    assert "ratio" not in filled.content
    assert filled.sendable


@pytest.mark.shows("D4")
def test_unanswered_is_not_false_and_not_the_first_option() -> None:
    filled = fill(EVERY_KIND, {"name": "Ada", "count": "3"})
    assert filled.content == {"name": "Ada", "count": 3}
    assert [(p.field, p.rule) for p in filled.problems] == [("urgent", "required"), ("size", "required")]


@pytest.mark.shows("F6")
def test_what_is_typed_becomes_the_value_that_it_reads_as() -> None:
    filled = fill(EVERY_KIND, {**GOOD, "extras": ["card"]})
    assert filled.content == {
        "name": "Ada",
        "count": 3,
        "ratio": 0.5,
        "urgent": False,
        "size": "m",
        "extras": ["card"],
    }
    assert filled.sendable


@pytest.mark.shows("F6")
@pytest.mark.parametrize("typed", ["three", "3.5", "1e3", "0x3", "3_0", "--3", "٣x"])
def test_a_number_is_never_guessed(typed: str) -> None:
    filled = fill(EVERY_KIND, {**GOOD, "count": typed})
    assert [p.field for p in filled.problems] == ["count"]
    assert "count" not in filled.content


@pytest.mark.parametrize("typed", ["nan", "inf", "-inf", "1e999", "x"])
def test_a_number_that_is_none_is_refused(typed: str) -> None:
    form = Form.by_hand(Number("n"))
    assert [p.rule for p in fill(form, {"n": typed}).problems] == ["type", "required"][:1]


def test_problems_come_in_the_order_of_the_fields() -> None:
    filled = fill(
        EVERY_KIND, {"name": "A", "count": "many", "email": "nope", "urgent": "maybe", "size": "xxl"}
    )
    assert [p.field for p in filled.problems] == ["name", "email", "count", "urgent", "size"]


@pytest.mark.shows("S4")
def test_a_secret_in_what_was_typed_is_found_before_it_leaves() -> None:
    filled = fill(Form.by_hand(Text("note")), {"note": "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"})
    assert [finding.tier for finding in filled.secrets] == [1]


def test_edited_tells_which_suggestions_were_changed() -> None:
    assert edited(EVERY_KIND, {"count": 3, "ratio": 0.7}) == ("ratio",)
    assert edited(EVERY_KIND, {"ratio": 0.5}) == ("count",)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # of a busy computer, not of the code
@given(
    st.dictionaries(
        st.sampled_from([field.name for field in EVERY_KIND.fields]),
        st.text() | st.lists(st.text(), max_size=3),
    )
)
def test_whatever_is_typed_is_either_explained_or_fits(entries: dict[str, Any]) -> None:
    filled = fill(EVERY_KIND, entries)
    if filled.sendable:
        assert check_answer(EVERY_KIND, filled.content) == ()
