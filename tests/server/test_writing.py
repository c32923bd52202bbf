"""JSON written by pydantic: the same values as the standard library's, and nothing that is no JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handraise.conversation.digest import Written, canonical
from handraise.errors import WireError
from handraise.server.writing import write_answers, write_arguments

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NO_JSON: list[Any] = [float("nan"), float("inf"), -float("inf"), "\ud800", {"\udfff": 1}, print]


@pytest.mark.shows("C3")
@given(JSON)
@example(["Infinity", {"b": 1, "a": 1.0}])
def test_what_is_written_is_read_as_it_was_but_for_the_order_of_members(value: Any) -> None:
    for write in (write_answers, write_arguments):
        assert canonical(json.loads(write(value))) == canonical(value)
        assert Written(write(value)) == Written.of(value)


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "a NaNny of 1,000"])
def test_a_text_may_have_the_letters_of_what_is_no_number(text: str) -> None:
    assert json.loads(write_answers({text: [text]})) == {text: [text]}


@pytest.mark.shows("F8")
@pytest.mark.parametrize("value", NO_JSON, ids=repr)
def test_answers_that_are_no_json_are_refused(value: Any) -> None:
    for around in (value, [value], {"x": {"content": value}}):
        with pytest.raises(WireError):
            write_answers(around)


@pytest.mark.parametrize("value", NO_JSON[:-1], ids=repr)
def test_arguments_are_written_whatever_the_sdk_took(value: Any) -> None:
    assert (
        Written(write_arguments([value])) == Written(write_arguments([value])) != Written(write_arguments([]))
    )


def test_what_is_nested_deeply_is_written_too() -> None:
    deep: Any = "bottom"
    for _ in range(300):
        deep = [deep]
    assert json.loads(write_answers(deep)) == json.loads(write_arguments(deep)) == deep
