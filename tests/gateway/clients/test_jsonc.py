"""JSON with comments is read as JSON is, and says where its parts stand."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handraise.errors import SetupError
from handraise.gateway.clients.jsonc import parse, rewrite

PATIENT = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
"""A busy machine draws values slowly."""

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=6,
)


@PATIENT
@given(VALUES, st.sampled_from([None, 2]))
def test_json_is_read_as_the_library_reads_it(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    assert parse(text).value == json.loads(text)


@PATIENT
@given(st.text(alphabet='{}[]",:/*\n 1etru\\'))
def test_nothing_but_an_error_of_ours_comes_of_anything(text: str) -> None:
    with contextlib.suppress(SetupError):
        parse(text)


def test_comments_and_trailing_commas_are_no_hindrance() -> None:
    assert parse('// a\n{"a": [1, 2,], /* } */ "b": "// no",}\n// end').value == {"a": [1, 2], "b": "// no"}


@pytest.mark.parametrize(
    "text", ['{"a": 1 "b": 2}', "{'a': 1}", '{"a": 01}', "", "{} {}", '{"a": NaN}', "/* {}"]
)
def test_what_is_no_json_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(SetupError, match="line 1"):
        parse(text)


@PATIENT
@given(
    st.dictionaries(st.text(), VALUES, min_size=1, max_size=4), VALUES, st.sampled_from([None, 2]), st.data()
)
def test_one_member_is_replaced_and_the_others_stay(
    entry: dict[str, Any], new: Any, indent: int | None, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(entry)))
    text = json.dumps({"all": {"x": entry, "y": 1}}, indent=indent)
    after = rewrite(text, ["all"], {"x": {name: [(name, new)]}})
    assert json.loads(after) == {"all": {"x": entry | {name: new}, "y": 1}}


@PATIENT
@given(st.dictionaries(st.text(), VALUES, min_size=1, max_size=4), st.data())
def test_one_member_is_removed_and_the_others_stay(entry: dict[str, Any], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(entry)))
    after = rewrite(json.dumps({"x": entry}), [], {"x": {name: []}})
    assert json.loads(after) == {"x": {key: value for key, value in entry.items() if key != name}}
