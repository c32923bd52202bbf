"""Digests that pin a question, an answer and a call."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.conversation.digest import Written, canonical, digest, keyed_id

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_a_value_has_one_digest_however_it_travelled(value: Any) -> None:
    travelled = json.loads(json.dumps(value, indent=3))
    assert digest(travelled) == digest(value)
    assert canonical(value).isascii()


@given(st.dictionaries(st.text(), JSON, max_size=6))
def test_the_order_of_keys_does_not_matter(value: dict[str, Any]) -> None:
    assert digest(dict(reversed(value.items()))) == digest(value)


@given(JSON, JSON)
def test_different_values_have_different_digests(one: Any, other: Any) -> None:
    assert (digest(one) == digest(other)) is (canonical(one) == canonical(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (True, 1),
        (1, 1.0),
        (1, "1"),
        (None, "null"),
        (None, False),
        ([], {}),
        ("", None),
        (["a", "b"], ["b", "a"]),
        (["ab"], ["a", "b"]),
        ({"a": None}, {}),
        ("é", "e\u0301"),
    ],
)
def test_what_looks_alike_is_told_apart(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)


def test_a_digest_is_the_same_in_another_process() -> None:
    value = {"message": "Größe? 📏", "count": 2.5, "of": ["b", "a"]}
    code = f"from handraise.conversation.digest import digest; print(digest({value!r}))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == digest(value)


@pytest.mark.shows("X4")
def test_the_same_parts_give_the_same_id_and_other_parts_or_another_key_do_not() -> None:
    key = b"k" * 32
    first = keyed_id(key, "alice", "7", 1, "Delete it?")
    assert keyed_id(key, "alice", "7", 1, "Delete it?") == first
    others = {
        keyed_id(b"l" * 32, "alice", "7", 1, "Delete it?"),
        keyed_id(key, "mallory", "7", 1, "Delete it?"),
        keyed_id(key, "alice", "8", 1, "Delete it?"),
        keyed_id(key, "alice", "7", 2, "Delete it?"),
        keyed_id(key, "alice", "7", 1, "Delete all?"),
    }
    assert len(others | {first}) == 6


@given(st.text(), st.text())
def test_an_id_is_short_plain_text_whatever_it_is_made_from(person: str, message: str) -> None:
    made = keyed_id(b"k", person, "\ud800", 1, message)
    assert made.isascii()
    assert len(made) <= 32


def backwards(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: backwards(value[key]) for key in reversed(value)}
    return [backwards(item) for item in value] if isinstance(value, list) else value


@given(JSON, JSON)
def test_what_was_written_is_equal_to_what_says_the_same_and_to_nothing_else(value: Any, other: Any) -> None:
    written = Written.of(value)
    assert written == Written.of(backwards(value)) == Written(digest(value))
    assert (written == Written.of(other)) == (digest(value) == digest(other))
    assert (written == Written(digest(other))) == (digest(value) == digest(other))
    assert hash(written) == hash(Written.of(backwards(value)))
    assert written.digest == digest(value)


@pytest.mark.parametrize(
    "value", [1, 1.0, True, "1", [1], {"1": 1}, None, [], {}, "", "x" * 5000, ["x"] * 5000]
)
def test_values_that_python_takes_for_the_same_are_not(value: Any) -> None:
    others = [1, 1.0, True, "1", [1], {"1": 1}, None, [], {}, "", "x" * 5000, ["x"] * 5000]
    assert [other for other in others if Written.of(other) == Written.of(value)] == [value]
    assert Written.of(value) != value


@pytest.mark.parametrize("value", ["\ud800", {"\udfff": 1}, float("nan"), float("inf"), 10**400])
def test_whatever_an_argument_can_be_is_written(value: Any) -> None:
    assert Written.of([value]) == Written.of([value]) != Written.of([])
    assert Written.of([value]).digest == digest([value])


def test_what_is_long_is_kept_by_its_digest_alone() -> None:
    long = {"text": "long " * 10_000}
    assert sys.getsizeof(Written.of(long).kept) < 100
    assert Written.of(long) == Written.of(dict(long))


def test_what_was_written_shows_no_more_than_its_digest() -> None:
    assert repr(Written.of({"pin": 1234})) == f"Written({digest({'pin': 1234})!r})"
