"""What a person reads before a call runs: inert, without secrets, and never so much that the end is not seen."""

from __future__ import annotations

from typing import Any

import pytest

from handraise.errors import DefinitionError
from handraise.guards.wording import compose, count_of, fill, names_in

pytestmark = pytest.mark.shows("U1")

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def shown(arguments: dict[str, Any], tool: str = "remove") -> list[str]:
    """The lines about the call."""
    return compose("Go?", tool, arguments).split("\n\n")[1].splitlines()


def test_a_message_has_its_parts_in_order_and_no_empty_ones() -> None:
    told = compose("Go?", "remove", {"path": "a", "deep": True}, "Lost.", None, "", "Kept.")
    assert told == "Go?\n\nTool: remove\nArguments:\n- path: a\n- deep: true\n\nLost.\n\nKept."
    assert shown({}) == ["Tool: remove", "Arguments: none"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("größe", "größe"),
        (["ä", 1], '["ä", 1]'),
        ({"a": None}, '{"a": null}'),
        (1.5, "1.5"),
        ("a\nb", "a⟨U+000A⟩b"),
        ("a\u202eb", "a⟨U+202E⟩b"),
    ],
)
def test_values_are_shown_as_the_model_gave_them_and_inert(value: Any, text: str) -> None:
    assert shown({"x": value})[2:] == [f"- x: {text}"]


def test_what_is_no_plain_data_is_shown_as_text() -> None:
    assert shown({"x": {"at": frozenset()}})[2:] == ['- x: {"at": "frozenset()"}']


def test_names_of_tools_and_arguments_are_inert_and_cut() -> None:
    lines = shown({"a\nb" + "y" * 100: 1}, tool="t\n" + "x" * 100)
    assert lines[0].startswith("Tool: t⟨U+000A⟩xxx")
    assert lines[2].startswith("- a⟨U+000A⟩byyy")
    assert "x" * 61 not in lines[0]
    assert "y" * 61 not in lines[2]
    assert len(lines) == 3


def test_secrets_are_masked_in_arguments_and_in_the_sentence() -> None:
    arguments = {"api_key": "hunter2", "note": f"with {KEY}"}
    told = compose(fill("Use {api_key} and {note}?", arguments, None), "deploy", arguments)
    assert "hunter2" not in told
    assert KEY not in told


@pytest.mark.parametrize(("size", "cut"), [(900, False), (901, True)])
def test_a_value_that_is_too_long_is_cut_and_says_so(size: int, cut: bool) -> None:
    line = shown({"x": "y" * size})[2]
    assert ("characters⟩" in line) is cut
    assert (line == f"- x: {'y' * size}") is not cut


@pytest.mark.parametrize("others", [0, 3, 5])
def test_of_a_long_value_the_beginning_and_the_end_are_shown(others: int) -> None:
    hidden = "/* " + "harmless " * 300 + "*/ DELETE FROM people"
    lines = shown({"sql": hidden, **{f"x{at}": at for at in range(others)}})
    assert lines[2].startswith("- sql: /* harmless ")
    assert lines[2].endswith("*/ DELETE FROM people")
    left_out = int(lines[2].partition("⟨+")[2].partition(" ")[0])
    assert len(hidden) - left_out == len(lines[2]) - len(f"- sql: ⟨+{left_out} characters⟩")
    assert len(lines) == 3 + others


@pytest.mark.parametrize(
    ("many", "left"),
    [
        (12, None),
        (13, "- and 1 more that is not shown"),
        (14, "- and 2 more that are not shown"),
    ],
)
def test_what_is_left_out_is_counted(many: int, left: str | None) -> None:
    lines = shown({f"a{at}": at for at in range(many)})[2:]
    assert lines[:12] == [f"- a{at}: {at}" for at in range(12)]
    assert lines[12:] == ([] if left is None else [left])


def test_long_arguments_do_not_push_away_what_follows() -> None:
    lines = shown({f"a{at}": "y" * 155 for at in range(12)})
    assert [len(line) for line in lines[2:-1]] == [161] * 6
    assert lines[-1] == "- and 6 more that are not shown"
    exactly = {f"a{at}": "y" * 94 for at in range(10)}
    assert len(shown(exactly)) == 2 + 10
    assert shown({**exactly, "b": ""})[-1] == "- and 1 more that is not shown"
    assert shown({**exactly, "a9": "y" * 95})[-1] == "- and 1 more that is not shown"


def test_the_sentence_has_the_count_and_the_arguments() -> None:
    arguments = {"group": "old\u202e", "count": "mine", "n": 3}
    assert fill("{count} of {group}, {n}", arguments, 2000) == "2,000 of old⟨U+202E⟩, 3"
    assert fill("{count} of {absent}", arguments, None) == "mine of null"
    assert fill("{{count}}", {}, 5) == "{count}"
    assert count_of(1234567) == "1,234,567"


def test_a_long_argument_is_cut_in_the_sentence() -> None:
    assert fill("{x}", {"x": "y" * 80}, None) == "y" * 80
    assert "y" * 81 not in fill("{x}", {"x": "y" * 81}, None)


def test_names_are_found_once_each() -> None:
    assert names_in("{a} {b} {a} {{c}} d") == {"a", "b"}
    assert names_in("plain") == frozenset()


@pytest.mark.parametrize("template", ["{a.b}", "{a[0]}", "{0}", "{}", "{a b}", "{a:d}", "{a:{b}}", "{a!r}"])
def test_a_sentence_names_arguments_plainly(template: str) -> None:
    with pytest.raises(DefinitionError, match="use the plain name of an argument, or count"):
        names_in(template)


@pytest.mark.parametrize("template", ["{", "a } b", "{a!"])
def test_a_sentence_that_cannot_be_filled_in_is_refused(template: str) -> None:
    with pytest.raises(DefinitionError, match="cannot be filled in"):
        names_in(template)
