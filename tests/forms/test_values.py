from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handraise.errors import WireError
from handraise.forms import Limits, load_json, measure, require_bounded

pytestmark = pytest.mark.shows("F8")


def rule_of(text: str | bytes, limits: Limits | None = None) -> str:
    with pytest.raises(WireError) as refused:
        load_json(text, limits or Limits())
    return refused.value.rule


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"x": {"a": 1, "b": 2, "a": 1}}', '[{"": 1, "": 1}]'])
def test_a_key_that_comes_twice_is_refused(text: str) -> None:
    assert rule_of(text) == "duplicate_key"


@pytest.mark.parametrize("text", ["1e999", "-1e999", "[1E+400]", "NaN", "Infinity", '{"x": -Infinity}'])
def test_a_number_that_no_float_can_hold_is_refused(text: str) -> None:
    assert rule_of(text) == "number"


@pytest.mark.parametrize("text", ["", "{", "{}{}", "{'a': 1}", "nul", "\ufeff{}", "01", "1" * 5000, "\x00"])
def test_what_is_no_json_is_refused(text: str) -> None:
    assert rule_of(text) == "json"


@pytest.mark.parametrize(
    "text", [b"\xff", b'"\xc3"', b"\xfe\xff\x00{", '"\\ud800"', '{"\\udc00": 1}', '"\ud800"']
)
def test_what_is_no_unicode_is_refused(text: str | bytes) -> None:
    assert rule_of(text) == "unicode"


def test_more_bytes_than_allowed_are_refused() -> None:
    assert load_json('"' + "x" * 1_048_574 + '"') == "x" * 1_048_574
    assert rule_of('"' + "x" * 1_048_575 + '"') == "bytes"
    assert rule_of('"' + "ä" * 600_000 + '"') == "bytes"


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_deeper_than_allowed_is_refused(opening: str, closing: str) -> None:
    assert load_json(opening * 8 + "1" + closing * 8) is not None
    assert rule_of(opening * 9 + "1" + closing * 9) == "depth"
    assert rule_of(opening * 10_000 + "1" + closing * 10_000) == "depth"


def test_limits_can_be_changed() -> None:
    assert rule_of("[[]]", Limits(bytes=3)) == "bytes"
    assert rule_of("[[1]]", Limits(depth=1)) == "depth"


def test_integers_of_any_usual_size_are_exact() -> None:
    assert load_json("12345678901234567890123") == 12345678901234567890123


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("x" * 1_100_000, "bytes"),
        ([[[[[[[[[1]]]]]]]]], "depth"),
        (float("inf"), "json"),
        ({"x": float("nan")}, "json"),
        (object(), "json"),
        ("\ud800", "unicode"),
    ],
)
def test_a_value_that_someone_else_read_is_held_to_the_same_bounds(value: object, rule: str) -> None:
    with pytest.raises(WireError) as refused:
        require_bounded(value, Limits())
    assert refused.value.rule == rule


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(WireError):
        require_bounded(value, Limits())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(JSON)
def test_any_json_within_bounds_comes_back_as_it_was(value: object) -> None:
    with suppress(WireError):
        assert load_json(json.dumps(value)) == value


@settings(deadline=None)
@given(st.text() | st.binary())
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    with suppress(WireError):
        assert measure(load_json(text)) <= 65536
