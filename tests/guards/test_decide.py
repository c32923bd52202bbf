"""Which calls need a person, and what they are asked: every clause of a guard alone."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from handraise.errors import DefinitionError, GuardRefused
from handraise.forms import Flag, Text
from handraise.guards import Guard
from handraise.guards.decide import (
    DeclinePause,
    compose_message,
    count_in,
    count_of,
    fill_sentence,
    matches,
    names_in,
    same_text,
)
from handraise.policy.files import parse_settings
from handraise.questions import FormQuestion
from handraise.secrets import CallReading


def asked(
    guard: Guard, arguments: dict[str, Any] | None = None, count: int | None = None
) -> FormQuestion[Any]:
    question = guard.applies("remove", None, arguments or {}, count)
    assert question is not None
    return question


@pytest.mark.shows("U1", "U3")
def test_a_guard_that_says_nothing_asks_about_every_call() -> None:
    question = asked(Guard())
    assert question.message == (
        "The model wants to call this tool.\n"
        "If you decline: Nothing is done, and the model is told that you said no.\n\n"
        "Tool: remove\nArguments: none"
    )
    assert question.form.fields == (Flag("answer", title="Go ahead?"),)


@pytest.mark.shows("U1", "U3")
def test_a_decline_stands_second_and_what_follows_below_the_arguments() -> None:
    told = asked(Guard("Go?", consequence="All is lost.", if_declined="It stays.")).message
    assert told == "Go?\nIf you decline: It stays.\n\nTool: remove\nArguments: none\n\nAll is lost."
    assert asked(Guard("Go?", if_declined=None)).message == "Go?\n\nTool: remove\nArguments: none"


@pytest.mark.shows("U1", "U3")
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


@pytest.mark.shows("U1", "U3")
@pytest.mark.parametrize(
    ("hint", "meaning"), [("destructive", "may destroy something"), ("writes", "may change something")]
)
def test_tools_are_chosen_by_what_they_say(hint: Any, meaning: str) -> None:
    guard, said = Guard(hint=hint), {"readOnlyHint": True}
    assert guard.why_not("remove", None, {}) is None
    assert (
        guard.why_not("remove", said, {}) == f"It is for tools that {meaning}, and this one says otherwise."
    )


@pytest.mark.shows("U1", "U3")
@pytest.mark.parametrize(
    ("arguments", "unlike"),
    [
        ({"path": "/etc/a", "deep": True}, None),
        ({"path": ["/home", "/etc/a"], "deep": True}, None),
        ({"path": ["/home"], "deep": True}, "path"),
        ({"path": {"x": "/home"}, "deep": True}, None),
        ({"path": ["/home", ["/home"]], "deep": True}, None),
        ({"path": [], "deep": True}, "path"),
        ({"path": "/home", "deep": True}, "path"),
        ({"path": "/etc/a", "deep": False}, "deep"),
        ({"path": "/etc/a", "deep": "False"}, "deep"),
        ({"path": "/etc/a"}, "deep"),
        ({}, "path, deep"),
    ],
)
def test_calls_are_chosen_by_all_their_arguments(arguments: dict[str, Any], unlike: str | None) -> None:
    guard = Guard(arguments={"path": "/etc/*", "deep": "true"})
    told = None if unlike is None else f"It is for other values of {unlike}."
    assert guard.why_not("remove", None, arguments) == told


@pytest.mark.shows("U1", "U3")
@pytest.mark.parametrize(("value", "pattern"), [(False, "false"), (True, "true"), (7, "7"), (None, "None")])
def test_an_argument_that_is_no_text_is_compared_as_one(value: Any, pattern: str) -> None:
    assert Guard(arguments={"x": pattern}).concerns("remove", None, {"x": value})
    assert not Guard(arguments={"x": f"{pattern}!"}).concerns("remove", None, {"x": value})


@pytest.mark.shows("U1", "U3")
@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "act " * 1_000_000},
        {"text": ["act " * 1_000_000]},
        {"act " * 1_000_000: "x"},
        {f"act {number}": "act" for number in range(100_000)},
    ],
    ids=["text", "list", "name", "many"],
)
def test_a_question_about_a_huge_call_is_made_at_once(arguments: dict[str, Any]) -> None:
    """Looking through all of it took minutes, in which the gateway served nobody."""
    began = time.process_time()
    assert Guard().applies("remove", None, arguments) is not None
    assert time.process_time() - began < 5


@pytest.mark.shows("U1", "U3")
def test_a_secret_at_the_end_of_a_huge_value_is_masked() -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    asked = Guard().applies("remove", None, {"text": "x" * 100_000 + " " + secret})
    assert asked is not None
    assert secret[:12] not in asked.message


@pytest.mark.shows("U1", "U3")
@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("production", "Production"),
        ("production", " production\t"),
        ("production", "pro\u200bduction"),
        ("production", "ｐroduction"),
        ("production", "x" * 20_000),
        ("/etc/*", '["/etc/passwd"]'),
        ("/etc/*", ' {"path": "/etc/passwd"}'),
        ("true", "yes"),
        ("true", 1),
        ("true", "on"),
        ("false", "no"),
        ("false", 0),
        ("5", "+5"),
        ("5", 5.0),
        ("5", "05"),
        ("5", " 5 "),
    ],
)
def test_a_value_that_a_server_may_take_for_a_matching_one_matches(pattern: str, value: Any) -> None:
    guard = Guard(arguments={"x": pattern})
    assert guard.concerns("remove", None, {"x": value})
    assert guard.concerns("remove", None, {"x": ["other", value]})


@pytest.mark.shows("U1", "U3")
@pytest.mark.parametrize(("count", "asks"), [(0, False), (2000, False), (2001, True)])
def test_only_what_is_above_the_threshold_is_asked_about(count: int, asks: bool) -> None:
    guard = Guard(above=2000)
    assert (guard.applies("remove", None, {}, count) is not None) is asks
    told = None if asks else f"It asks above 2,000, and this is about {count:,}."
    assert guard.why_not("remove", None, {}, count) == told
    assert guard.concerns("remove", None, {})  # before anything was counted


@pytest.mark.shows("U1", "U3")
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


@pytest.mark.shows("U1", "U3")
def test_a_guard_that_cannot_ask_is_refused_when_it_is_made() -> None:
    with pytest.raises(DefinitionError, match="typed_above needs typed"):
        Guard(typed_above=3)
    with pytest.raises(DefinitionError, match="plain name"):
        Guard("Remove {0}?")


@pytest.mark.shows("U1", "U3")
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
    assert guard.agreed({"answer": True}, arguments, count) is (wanted is None)
    assert guard.agreed({"typed": wanted or "x"}, arguments, count) is (wanted is not None)


@pytest.mark.shows("U1", "U3")
@pytest.mark.parametrize("value", [None, "", "  ", 7, ["a"], True])
def test_an_argument_that_is_no_text_cannot_be_typed(value: Any) -> None:
    for arguments in ({"path": value}, {}):
        with pytest.raises(DefinitionError, match="'path' is to be typed, and it is no text in this call"):
            Guard(typed="path").applies("remove", None, arguments)


@pytest.mark.shows("U1", "U3")
@pytest.mark.parametrize(
    ("guard", "title"),
    [
        (Guard(typed="count"), "Type the number 2,000 to go ahead"),
        (Guard(typed="path"), "Type the path above to go ahead"),
    ],
)
def test_the_field_says_what_has_to_be_typed(guard: Guard, title: str) -> None:
    (field,) = asked(guard, {"path": "a"}, 2000).form.fields
    assert field == Text("typed", title=title, min_length=1, max_length=300)


@pytest.mark.shows("U1", "U3")
@pytest.mark.parametrize(
    "content", [{}, {"answer": False}, {"answer": 1}, {"answer": "true"}, {"typed": "x"}]
)
def test_only_a_plain_yes_is_one(content: dict[str, Any]) -> None:
    assert not Guard().agreed(content, {}, None)
    assert Guard().agreed({"answer": True}, {}, None)


@pytest.mark.shows("U1", "U3")
@pytest.mark.parametrize(
    "typed",
    ["2000000", " 2000000\n", "2,000,000", "2.000.000", "2 000 000", "2'000'000", "2\u00a0000\u202f000"],
)
def test_a_number_may_be_typed_with_separators(typed: str) -> None:
    assert same_text(typed, "2000000")


@pytest.mark.shows("U1", "U3")
@pytest.mark.parametrize(
    "typed",
    [None, 2000000, "", "200000", "20000000", "2,000", ",2000000", "2_000_000", "2,0000,00", "-2000000"],
)
def test_another_number_is_another(typed: Any) -> None:
    assert not same_text(typed, "2000000")


@pytest.mark.shows("U1", "U3")
def test_a_name_is_typed_as_it_is() -> None:
    assert same_text(" a 100 ", "a 100")
    for typed in ("a100", "A 100", "a 10", "a  100"):
        assert not same_text(typed, "a 100")
    assert not same_text("1,000", "a1000")
    assert not same_text("a1,000", "a1000")


@pytest.mark.shows("U1", "U3")
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
    assert count_in({"to": value}, "to") == count
    assert count_in({"to": value}, "cc") is None


@pytest.mark.shows("U1", "U3")
def test_a_sentence_is_filled_in_with_the_count_and_the_arguments() -> None:
    told = asked(Guard("Remove {count} of {path}?"), {"path": "a"}, 2000).message
    assert re.match(r"Remove 2,000 of a\?\n", told)


@pytest.mark.shows("U3b")
@pytest.mark.parametrize("said", [None, {}, {"destructiveHint": True}, {"title": "harmless"}])
@pytest.mark.parametrize(
    "doubtful", [{}, {"readOnlyHint": "true"}, {"readOnlyHint": 1}, {"readOnlyHint": None}]
)
def test_what_is_not_said_plainly_counts_as_destructive(said: Any, doubtful: Any) -> None:
    assert matches("destructive", {**(said or {}), **doubtful} if doubtful else said)


@pytest.mark.shows("U3b")
@pytest.mark.parametrize("value", ["false", 0, None, "", []])
def test_only_a_plain_false_says_that_nothing_is_destroyed(value: Any) -> None:
    assert matches("destructive", {"destructiveHint": value})
    assert not matches("destructive", {"destructiveHint": False})


@pytest.mark.shows("U3b")
def test_a_rule_without_a_hint_asks_about_all_that_may_destroy() -> None:
    assert parse_settings('[guards.mine]\ntools = ["delete_*"]').guards["mine"].hint == "destructive"


class Clock:
    """A time that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def is_quiet(quiet: DeclinePause, person: str = "ada", tool: str = "remove") -> bool:
    try:
        quiet.require_over(person, tool)
    except GuardRefused:
        return True
    return False


@pytest.mark.shows("U1")
def test_who_declined_is_left_alone_until_the_time_is_over() -> None:
    clock = Clock()
    quiet = DeclinePause(60, clock)
    assert not is_quiet(quiet)
    quiet.begin("ada", "remove")
    for passed, expected in ((0, True), (59.9, True), (60, False), (61, False)):
        clock.now = 100.0 + passed
        assert is_quiet(quiet) is expected, passed
        assert is_quiet(quiet, tool=" Remove") is expected, "a server may take it for the same tool"


@pytest.mark.shows("U1")
def test_others_and_other_tools_are_asked_meanwhile() -> None:
    quiet = DeclinePause(60, Clock())
    quiet.begin("ada", "remove")
    assert not is_quiet(quiet, "grace", "remove")
    assert not is_quiet(quiet, "ada", "send")


@pytest.mark.shows("U1")
def test_nobody_who_never_declined_is_left_alone_even_before_the_clock_began() -> None:
    clock = Clock()
    clock.now = 0.0
    assert not is_quiet(DeclinePause(60, clock))


@pytest.mark.shows("U1")
def test_the_refusal_says_for_how_long_and_what_to_do() -> None:
    clock = Clock()
    quiet = DeclinePause(60, clock)
    quiet.begin("ada", "remove")
    clock.now += 0.5
    told = (
        "The person declined remove a moment ago and is not asked again for 60 seconds. Nothing was done. "
        "Talk to them first."
    )
    with pytest.raises(GuardRefused, match=f"^{re.escape(told)}$") as caught:
        quiet.require_over("ada", "remove")
    assert caught.value.category == "cooling_down"


@pytest.mark.shows("U1")
@pytest.mark.parametrize(("seconds", "rests"), [(0, False), (-1, False), (0.5, True)])
def test_without_a_pause_nothing_is_remembered(seconds: float, rests: bool) -> None:
    clock = Clock()
    quiet = DeclinePause(seconds, clock)
    quiet.begin("ada", "remove")
    assert is_quiet(quiet) is rests
    clock.now -= 10  # what was remembered would show now
    assert is_quiet(quiet) is rests


@pytest.mark.shows("U1")
def test_of_very_many_the_oldest_are_forgotten_and_who_declined_again_is_not_among_them() -> None:
    quiet = DeclinePause(60, Clock())
    for at in range(10_000):
        quiet.begin(f"p{at}", "remove")
    assert is_quiet(quiet, "p0")
    quiet.begin("p0", "remove")
    quiet.begin("one more", "remove")
    assert [is_quiet(quiet, name) for name in ("p0", "p1", "p2", "one more")] == [True, False, True, True]


KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def shown(arguments: dict[str, Any], tool: str = "remove") -> list[str]:
    """The lines about the call."""
    return compose_message("Go?", tool, arguments).split("\n\n")[1].splitlines()


@pytest.mark.shows("U1")
def test_a_message_has_its_parts_in_order_and_no_empty_ones() -> None:
    told = compose_message("Go?", "remove", {"path": "a", "deep": True}, "Lost.", "Kept.")
    assert told == "Go?\nIf you decline: Kept.\n\nTool: remove\nArguments:\n- path: a\n- deep: true\n\nLost."
    assert compose_message("Go?", "remove", {}, "", None) == "Go?\n\nTool: remove\nArguments: none"
    assert shown({}) == ["Tool: remove", "Arguments: none"]


@pytest.mark.shows("U1")
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


@pytest.mark.shows("U1")
def test_what_is_no_plain_data_is_shown_as_text() -> None:
    assert shown({"x": {"at": frozenset()}})[2:] == ['- x: {"at": "frozenset()"}']


@pytest.mark.shows("U1")
def test_names_of_tools_and_arguments_are_inert_and_cut() -> None:
    lines = shown({"a\nb" + "y" * 100: 1}, tool="t\n" + "x" * 100)
    assert lines[0].startswith("Tool: t⟨U+000A⟩xxx")
    assert lines[2].startswith("- a⟨U+000A⟩byyy")
    assert "x" * 61 not in lines[0]
    assert "y" * 61 not in lines[2]
    assert len(lines) == 3


@pytest.mark.shows("U1")
def test_secrets_are_masked_in_arguments_and_in_the_sentence() -> None:
    arguments = {"api_key": "hunter2", "note": f"with {KEY}"}
    told = compose_message(fill_sentence("Use {api_key} and {note}?", arguments, None), "deploy", arguments)
    assert "hunter2" not in told
    assert KEY not in told


@pytest.mark.shows("U1")
@pytest.mark.parametrize(("size", "cut"), [(900, False), (901, True)])
def test_a_value_that_is_too_long_is_cut_and_says_so(size: int, cut: bool) -> None:
    line = shown({"x": "y" * size})[2]
    assert ("characters⟩" in line) is cut
    assert (line == f"- x: {'y' * size}") is not cut


@pytest.mark.shows("U1")
@pytest.mark.parametrize("others", [0, 3, 5])
def test_of_a_long_value_the_beginning_and_the_end_are_shown(others: int) -> None:
    hidden = "/* " + "harmless " * 300 + "*/ DELETE FROM people"
    lines = shown({"sql": hidden, **{f"x{at}": at for at in range(others)}})
    assert lines[2].startswith("- sql: /* harmless ")
    assert lines[2].endswith("*/ DELETE FROM people")
    left_out = int(lines[2].partition("⟨+")[2].partition(" ")[0])
    assert len(hidden) - left_out == len(lines[2]) - len(f"- sql: ⟨+{left_out} characters⟩")
    assert len(lines) == 3 + others


@pytest.mark.shows("U1")
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


@pytest.mark.shows("U1")
def test_long_arguments_do_not_push_away_what_follows() -> None:
    lines = shown({f"a{at}": "y" * 155 for at in range(12)})
    assert [len(line) for line in lines[2:-1]] == [161] * 6
    assert lines[-1] == "- and 6 more that are not shown"
    exactly = {f"a{at}": "y" * 94 for at in range(10)}
    assert len(shown(exactly)) == 2 + 10
    assert shown({**exactly, "b": ""})[-1] == "- and 1 more that is not shown"
    assert shown({**exactly, "a9": "y" * 95})[-1] == "- and 1 more that is not shown"


@pytest.mark.shows("U1")
def test_the_sentence_has_the_count_and_the_arguments() -> None:
    arguments = {"group": "old\u202e", "count": "mine", "n": 3}
    assert fill_sentence("{count} of {group}, {n}", arguments, 2000) == "2,000 of old⟨U+202E⟩, 3"
    assert fill_sentence("{count} of {absent}", arguments, None) == "mine of null"
    assert fill_sentence("{{count}}", {}, 5) == "{count}"
    assert count_of(1234567) == "1,234,567"


@pytest.mark.shows("U1")
def test_a_long_argument_is_cut_in_the_sentence() -> None:
    assert fill_sentence("{x}", {"x": "y" * 80}, None) == "y" * 80
    assert "y" * 81 not in fill_sentence("{x}", {"x": "y" * 81}, None)


@pytest.mark.shows("U1")
def test_names_are_found_once_each() -> None:
    assert names_in("{a} {b} {a} {{c}} d") == {"a", "b"}
    assert names_in("plain") == frozenset()


@pytest.mark.shows("U1")
@pytest.mark.parametrize("template", ["{a.b}", "{a[0]}", "{0}", "{}", "{a b}", "{a:d}", "{a:{b}}", "{a!r}"])
def test_a_sentence_names_arguments_plainly(template: str) -> None:
    with pytest.raises(DefinitionError, match="use the plain name of an argument, or count"):
        names_in(template)


@pytest.mark.shows("U1")
@pytest.mark.parametrize("template", ["{", "a } b", "{a!"])
def test_a_sentence_that_cannot_be_filled_in_is_refused(template: str) -> None:
    with pytest.raises(DefinitionError, match="cannot be filled in"):
        names_in(template)


@pytest.mark.parametrize(
    "name", ["group", "table", "branch", "release", "folder", "invoice", "plan", "count"]
)
@pytest.mark.parametrize(
    "message", ["Delete 47 contacts?", "Drop it for good?", "Really deploy to production?"]
)
def test_a_typed_confirmation_does_not_look_like_a_secret(name: str, message: str) -> None:
    guard = Guard(message=message, typed=name, consequence="This cannot be undone.")
    question = asked(guard, {name: "old stuff", "limit": 3}, 47)
    assert not CallReading().judge(question.message, question.form)


KEY = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.mark.shows("U1", "S5")
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (f"rm -rf / # {KEY}", "rm -rf / # [masked: token]"),
        ({"run": [f"rm -rf / # {KEY}"]}, '{"run": ["rm -rf / # [masked: token]"]}'),
        (KEY, "[masked: token]"),
        (
            "legal winner thank year wave sausage worth useful legal winner thank yellow",
            "[masked: seed phrase]",
        ),
    ],
    ids=["command", "deep", "key", "phrase"],
)
def test_a_secret_in_an_argument_hides_nothing_else_of_it(value: Any, shown: str) -> None:
    message = asked(Guard("Go?"), {"command": value}).message
    assert f"- command: {shown}" in message
    assert KEY not in message


@pytest.mark.shows("U1")
def test_other_arguments_do_not_push_away_the_one_that_the_guard_is_about() -> None:
    others = {f"a{at}": at for at in range(12)}
    guard = Guard("Go?", arguments={"env": "prod*"}, typed="why")
    message = asked(guard, {**others, "env": "production", "why": "so"}).message
    assert "Arguments:\n- env: production\n- why: so\n- a0: 0\n" in message
    assert "- and 2 more that are not shown" in message
