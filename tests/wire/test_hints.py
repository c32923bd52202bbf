"""Hints between our server and our desks: what they say, and that nothing hostile in them counts."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.errors import DefinitionError
from handraise.forms import Flag, Form, Integer, Text
from handraise.questions import NO_HINTS, Buttons, FormQuestion, QuestionHints
from handraise.revisions import Revision
from handraise.wire import (
    QUESTION_HINTS,
    REFUSALS,
    REFUSED,
    RefusalCode,
    dump_question,
    dump_question_hints,
    dump_refusal,
    parse_question,
    parse_question_hints,
    parse_refusal,
    shorter_deadline,
)

JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_hints_come_back_as_they_were_sent() -> None:
    hints = QuestionHints(
        2.5, Buttons("Delete 47 files", "Keep them"), (("budget", "More than 0, please."),), guard=True
    )
    assert parse_question_hints(dump_question_hints(hints)) == hints


def test_a_question_without_hints_has_no_meta() -> None:
    assert dump_question_hints(NO_HINTS) == {}
    assert parse_question_hints(None) is parse_question_hints({}) is NO_HINTS


def test_a_deadline_can_only_shorten() -> None:
    assert shorter_deadline(1_300.0, QuestionHints(expires_in=3), now=1_000.0) == 1_003.0
    assert shorter_deadline(1_300.0, QuestionHints(expires_in=86_400), now=1_000.0) == 1_300.0
    assert shorter_deadline(None, QuestionHints(expires_in=3), now=1_000.0) == 1_003.0
    assert shorter_deadline(1_300.0, NO_HINTS, now=1_000.0) == 1_300.0


@pytest.mark.parametrize("told", [-1, "3", True, float("nan"), float("inf"), 10**400, None, [3]])
def test_a_deadline_that_is_no_number_of_seconds_is_ignored(told: object) -> None:
    assert parse_question_hints({QUESTION_HINTS: {"expiresIn": told}}).expires_in is None


@pytest.mark.parametrize(
    "words",
    [
        "",
        " ",
        "x" * 41,
        "two\nlines",
        "a\u202eb",
        "zero\u200bwidth",
        "esc\x1b[31m",
        " padded",
        "Keep” Yes: “Delete",
        'Keep" it',
        "Behalten»",
        7,
        None,
        ["Yes"],
    ],
)
def test_words_that_no_button_may_say_are_ignored(words: object) -> None:
    assert parse_question_hints({QUESTION_HINTS: {"buttons": {"yes": words}}}).buttons == Buttons()


@pytest.mark.parametrize("words", ["", "x" * 41, "two\nlines", "a\u202eb", " padded", "Keep” Yes: “Delete"])
def test_an_author_is_told_what_a_button_cannot_say(words: str) -> None:
    with pytest.raises(DefinitionError, match="a button says 1 to 40"):
        dump_question_hints(QuestionHints(buttons=Buttons(yes=words)))


def test_every_refusal_is_a_code_with_one_constant_sentence() -> None:
    assert set(REFUSALS) == set(get_args(RefusalCode))
    for code in get_args(RefusalCode):
        assert parse_refusal({"action": "cancel", "_meta": dump_refusal(code)}) == code


@pytest.mark.parametrize("action", ["accept", "decline", None])
def test_a_refusal_counts_on_a_cancel_only(action: object) -> None:
    assert parse_refusal({"action": action, "_meta": dump_refusal("policy")}) is None


@pytest.mark.parametrize("code", ["unknown", "the text of a rule", 7, None, ["policy"], {"policy": 1}])
def test_an_unknown_refusal_is_ignored(code: object) -> None:
    assert parse_refusal({"action": "cancel", "_meta": {REFUSED: code}}) is None


@given(JSON)
def test_nothing_that_a_stranger_sends_is_an_error(told: Any) -> None:
    for meta in (
        told,
        {QUESTION_HINTS: told},
        {QUESTION_HINTS: {"buttons": told, "problems": told, "expiresIn": told}},
    ):
        hints = parse_question_hints(meta)
        assert all(word is None or len(word) <= 40 for word in (hints.buttons.yes, hints.buttons.no))
    parse_refusal(told)
    parse_refusal({"action": "cancel", "_meta": told})


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ({"city": "Graz", "size": 3}, {"city": "Graz", "size": 3}),
        ({"city": "Graz", "size": 99, "other": 1}, {"city": "Graz"}),
        ({"city": 7, "size": "3"}, {}),
        (["city"], {}),
        ("Graz", {}),
    ],
)
def test_a_last_answer_counts_only_where_it_fits_the_form(told: object, kept: dict[str, Any]) -> None:
    form = Form.by_hand(Text("city"), Integer("size", maximum=9))
    meta = {QUESTION_HINTS: {"lastAnswer": told}}
    assert parse_question_hints(meta, form).last_answer == kept
    assert parse_question_hints(meta).last_answer == {}
    meta[QUESTION_HINTS]["guard"] = True
    assert parse_question_hints(meta, form).last_answer == {}


def test_a_confirmation_has_no_last_answer() -> None:
    params = dump_question(FormQuestion("Sure?", Form.by_hand(Flag("answer"))), Revision.JULY_2026)
    params["_meta"] = {QUESTION_HINTS: {"lastAnswer": {"answer": True}}}
    assert parse_question(params, Revision.JULY_2026).hints.last_answer == {}
