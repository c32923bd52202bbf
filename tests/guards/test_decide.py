"""Which calls need a person, and what they are asked: every clause of a guard alone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from handraise.errors import DefinitionError
from handraise.forms import Flag, Text
from handraise.guards import Guard
from handraise.guards.decide import counted, same_text
from handraise.questions import FormQuestion

pytestmark = pytest.mark.shows("U1", "U3")


def asked(
    guard: Guard, arguments: dict[str, Any] | None = None, count: int | None = None
) -> FormQuestion[Any]:
    question = guard.applies("remove", None, arguments or {}, count)
    assert question is not None
    return question


def test_a_guard_that_says_nothing_asks_about_every_call() -> None:
    question = asked(Guard())
    assert question.message == (
        "The model wants to call this tool.\n\nTool: remove\nArguments: none\n\n"
        "If you decline: Nothing is done, and the model is told that you said no."
    )
    assert question.form.fields == (Flag("confirm", title="Go ahead?"),)


def test_what_follows_stands_below_the_arguments_and_may_be_left_out() -> None:
    told = asked(Guard("Go?", consequence="All is lost.", if_declined="It stays.")).message
    assert told == "Go?\n\nTool: remove\nArguments: none\n\nAll is lost.\n\nIf you decline: It stays."
    assert asked(Guard("Go?", if_declined=None)).message == "Go?\n\nTool: remove\nArguments: none"


@pytest.mark.parametrize(
    ("tools", "concerned"),
    [
        (("*",), True),
        (("remove",), True),
        (("re*",), True),
        (("send", "re*"), True),
        (("send",), False),
        (("Remove",), False),
        (("emove",), False),
        ((), False),
    ],
)
def test_tools_are_chosen_by_name_or_pattern(tools: tuple[str, ...], concerned: bool) -> None:
    guard = Guard(tools=tools)
    assert guard.concerns("remove", None, {}) is concerned
    assert (guard.applies("remove", None, {}) is not None) is concerned
    assert guard.why_not("remove", None, {}) == (None if concerned else "It is for other tools.")


@pytest.mark.parametrize(
    ("hint", "meaning"), [("destructive", "may destroy something"), ("writes", "may change something")]
)
def test_tools_are_chosen_by_what_they_say(hint: Any, meaning: str) -> None:
    guard, said = Guard(hint=hint), {"readOnlyHint": True}
    assert guard.why_not("remove", None, {}) is None
    assert (
        guard.why_not("remove", said, {}) == f"It is for tools that {meaning}, and this one says otherwise."
    )


@pytest.mark.parametrize(
    ("arguments", "unlike"),
    [
        ({"path": "/etc/a", "deep": True}, None),
        ({"path": ["/home", "/etc/a"], "deep": True}, None),
        ({"path": ["/home"], "deep": True}, "path"),
        ({"path": [], "deep": True}, "path"),
        ({"path": "/home", "deep": True}, "path"),
        ({"path": "/etc/a", "deep": False}, "deep"),
        ({"path": "/etc/a", "deep": "True"}, "deep"),
        ({"path": "/etc/a"}, "deep"),
        ({}, "path, deep"),
    ],
)
def test_calls_are_chosen_by_all_their_arguments(arguments: dict[str, Any], unlike: str | None) -> None:
    guard = Guard(arguments={"path": "/etc/*", "deep": "true"})
    told = None if unlike is None else f"It is for other values of {unlike}."
    assert guard.why_not("remove", None, arguments) == told


@pytest.mark.parametrize(
    ("value", "pattern"), [(False, "false"), (True, "true"), (7, "7"), (None, "None"), ({"a": 1}, "*'a'*")]
)
def test_an_argument_that_is_no_text_is_compared_as_one(value: Any, pattern: str) -> None:
    assert Guard(arguments={"x": pattern}).concerns("remove", None, {"x": value})
    assert not Guard(arguments={"x": f"{pattern}!"}).concerns("remove", None, {"x": value})


@pytest.mark.parametrize(("count", "asks"), [(0, False), (2000, False), (2001, True)])
def test_only_what_is_above_the_threshold_is_asked_about(count: int, asks: bool) -> None:
    guard = Guard(above=2000)
    assert (guard.applies("remove", None, {}, count) is not None) is asks
    told = None if asks else f"It asks above 2,000, and this is about {count:,}."
    assert guard.why_not("remove", None, {}, count) == told
    assert guard.concerns("remove", None, {})  # before anything was counted


@pytest.mark.parametrize(
    ("guard", "needs"),
    [
        (Guard(), False),
        (Guard(typed="path"), False),
        (Guard("Remove {path}?"), False),
        (Guard("Remove {count}?"), True),
        (Guard(above=0), True),
        (Guard(typed="count"), True),
        (Guard(typed="path", typed_above=0), True),
    ],
)
def test_a_guard_that_decides_by_a_count_does_not_decide_without(guard: Guard, needs: bool) -> None:
    assert guard.needs_count is needs
    if needs:
        with pytest.raises(DefinitionError, match="this guard speaks of a count; give it count="):
            guard.applies("remove", None, {"path": "a"})
    assert guard.applies("remove", None, {"path": "a"}, 3) is not None


def test_a_guard_that_cannot_ask_is_refused_when_it_is_made() -> None:
    with pytest.raises(DefinitionError, match="typed_above needs typed"):
        Guard(typed_above=3)
    with pytest.raises(DefinitionError, match="plain name"):
        Guard("Remove {0}?")


@pytest.mark.parametrize(
    ("guard", "count", "wanted"),
    [
        (Guard(), 3, None),
        (Guard(typed="count"), 2000, "2000"),
        (Guard(typed="count", typed_above=10), 10, None),
        (Guard(typed="count", typed_above=10), 11, "11"),
        (Guard(typed="path", typed_above=10), 10, None),
        (Guard(typed="path", typed_above=10), 11, "a b"),
        (Guard(typed="path"), None, "a b"),
    ],
)
def test_what_has_to_be_typed(guard: Guard, count: int | None, wanted: str | None) -> None:
    arguments = {"path": " a b "}
    assert guard.to_type(arguments, count) == wanted
    assert guard.agreed({"confirm": True}, arguments, count) is (wanted is None)
    assert guard.agreed({"typed": wanted or "x"}, arguments, count) is (wanted is not None)


@pytest.mark.parametrize("value", [None, "", "  ", 7, ["a"], True])
def test_an_argument_that_is_no_text_cannot_be_typed(value: Any) -> None:
    for arguments in ({"path": value}, {}):
        with pytest.raises(DefinitionError, match="'path' is to be typed, and it is no text in this call"):
            Guard(typed="path").applies("remove", None, arguments)


@pytest.mark.parametrize(
    ("guard", "title"),
    [
        (Guard(typed="count"), "Type the number 2,000 to go ahead"),
        (Guard(typed="path"), "Type the path above to go ahead"),
    ],
)
def test_the_field_says_what_has_to_be_typed(guard: Guard, title: str) -> None:
    (field,) = asked(guard, {"path": "a"}, 2000).form.fields
    assert field == Text("typed", title=title, min_length=1, max_length=500)


@pytest.mark.parametrize(
    "content", [{}, {"confirm": False}, {"confirm": 1}, {"confirm": "true"}, {"typed": "x"}]
)
def test_only_a_plain_yes_is_one(content: dict[str, Any]) -> None:
    assert not Guard().agreed(content, {}, None)
    assert Guard().agreed({"confirm": True}, {}, None)


@pytest.mark.parametrize(
    "typed",
    ["2000000", " 2000000\n", "2,000,000", "2.000.000", "2 000 000", "2'000'000", "2\u00a0000\u202f000"],
)
def test_a_number_may_be_typed_with_separators(typed: str) -> None:
    assert same_text(typed, "2000000")


@pytest.mark.parametrize(
    "typed",
    [None, 2000000, "", "200000", "20000000", "2,000", ",2000000", "2_000_000", "2,0000,00", "-2000000"],
)
def test_another_number_is_another(typed: Any) -> None:
    assert not same_text(typed, "2000000")


def test_a_name_is_typed_as_it_is() -> None:
    assert same_text(" a 100 ", "a 100")
    for typed in ("a100", "A 100", "a 10", "a  100"):
        assert not same_text(typed, "a 100")
    assert not same_text("1,000", "a1000")
    assert not same_text("a1,000", "a1000")


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (["a", "b"], 2),
        ([], 0),
        ({"a": 1}, 1),
        (0, 0),
        (7, 7),
        (-1, None),
        (True, None),
        (False, None),
        (1.0, None),
        ("abc", None),
        (None, None),
    ],
)
def test_an_argument_says_how_much_a_call_is_about(value: Any, count: int | None) -> None:
    assert counted({"to": value}, "to") == count
    assert counted({"to": value}, "cc") is None


def test_a_sentence_is_filled_in_with_the_count_and_the_arguments() -> None:
    told = asked(Guard("Remove {count} of {path}?"), {"path": "a"}, 2000).message
    assert re.match(r"Remove 2,000 of a\?\n", told)
