"""Files of clients: JSON with comments is read as JSON is and keeps its layout; of YAML what is plain is read."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.gateway.clients.samples import CONTINUE, GOOSE

from handraise.errors import SetupError
from handraise.gateway.clients.table import CLIENTS
from handraise.gateway.clients.texts import parse_jsonc, read_yaml, rewrite_jsonc

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
    assert parse_jsonc(text) == json.loads(text)


@PATIENT
@given(st.text(alphabet='{}[]",:/*\n 1etru\\'))
def test_nothing_but_an_error_of_ours_comes_of_anything(text: str) -> None:
    with contextlib.suppress(SetupError):
        parse_jsonc(text)


def test_comments_and_trailing_commas_are_no_hindrance() -> None:
    assert parse_jsonc('// a\n{"a": [1, 2,], /* } */ "b": "// no",}\n// end') == {"a": [1, 2], "b": "// no"}


@pytest.mark.parametrize(
    "text", ['{"a": 1 "b": 2}', "{'a': 1}", '{"a": 01}', "", "{} {}", '{"a": NaN}', "/* {}"]
)
def test_what_is_no_json_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(SetupError, match="line 1"):
        parse_jsonc(text)


@PATIENT
@given(
    st.dictionaries(st.text(), VALUES, min_size=1, max_size=4), VALUES, st.sampled_from([None, 2]), st.data()
)
def test_one_member_is_replaced_and_the_others_stay(
    entry: dict[str, Any], new: Any, indent: int | None, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(entry)))
    text = json.dumps({"all": {"x": entry, "y": 1}}, indent=indent)
    after = rewrite_jsonc(text, ["all"], {"x": {name: [(name, new)]}})
    assert json.loads(after) == {"all": {"x": entry | {name: new}, "y": 1}}


@PATIENT
@given(st.dictionaries(st.text(), VALUES, min_size=1, max_size=4), st.data())
def test_one_member_is_removed_and_the_others_stay(entry: dict[str, Any], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(entry)))
    after = rewrite_jsonc(json.dumps({"x": entry}), [], {"x": {name: []}})
    assert json.loads(after) == {"x": {key: value for key, value in entry.items() if key != name}}


def read_extensions(text: str) -> dict[str, dict[str, Any]]:
    return read_yaml(CLIENTS["goose"], text)


def test_a_list_of_servers_is_read() -> None:
    read = read_yaml(CLIENTS["continue"], CONTINUE)
    assert list(read) == ["notes", "two", "web", "folded"]
    assert (read["notes"]["command"], read["notes"]["args"]) == ("npx", ["-y", "notes server"])
    assert (read["two"]["command"], read["two"]["args"]) == ("uvx", ["x"])
    assert read["web"]["url"] == "https://web.example.com/mcp"
    assert read["folded"] == {}


def test_what_is_plain_is_read() -> None:
    read = read_extensions(GOOSE)
    assert list(read) == ["developer", "notes", "web", "folded"]
    assert read["notes"]["command"] == "npx"
    assert read["notes"]["args"] == ["-y", "notes server", "it's #1"]
    assert read["web"]["uri"] == "https://web.example.com/mcp"
    assert read["folded"] == {}


@pytest.mark.parametrize(
    ("members", "read"),
    [
        ("cmd: npx", {"command": "npx"}),
        ("args: []", {"args": []}),
        ("args:\n    - -y\n    - x\n    cmd: npx", {"args": ["-y", "x"], "command": "npx"}),
        ("args:\n      - -y\n    cmd: npx", {"args": ["-y"], "command": "npx"}),
        ("envs:\n      A: b\n    cmd: npx", {"command": "npx"}),
        ("cmd: npx\n     args: []", {}),
        ("cmd:\n      a: b", {}),
        ("- cmd: npx", {}),
        ("plain", {}),
    ],
    ids=repr,
)
def test_the_members_of_an_entry_are_those_in_its_first_column(members: str, read: dict[str, Any]) -> None:
    """An entry that is written in another way is left alone as a whole."""
    assert read_extensions(f"extensions:\n  a:\n    {members}\n") == {"a": read}


@pytest.mark.parametrize(
    "cmd",
    ["&a npx", "*a", "!!str npx", "|", "npx # runner", "{a: b}", '"a\\x"', "'it's'", "a: b"],
)
def test_what_is_more_than_a_plain_text_is_not_read(cmd: str) -> None:
    assert read_extensions(f"extensions:\n  a:\n    cmd: {cmd}\n    args: []\n") == {"a": {}}


@pytest.mark.parametrize("text", ["", "extensions: {}", "other:\n  a:\n    cmd: x", "extensions:\n- a\n"])
def test_without_extensions_there_are_none(text: str) -> None:
    assert read_extensions(text) == {}
