"""From what a person typed to the content of an answer."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.desks.questions import EVERY_KIND, form_question

from handraise.desks import edited, fill, present, suggest
from handraise.desks.fill import Entries, as_typed, draft_of, local_moment, read_field, take_draft
from handraise.desks.language import AMERICAN, ENGLISH, GERMAN, Language
from handraise.forms import Choices, Flag, Form, Integer, Number, Text, check_answer
from handraise.secrets import judge_form

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


@pytest.mark.shows("S4")
def test_an_answer_to_a_doubtful_form_wants_a_second_look() -> None:
    form = Form.by_hand(Text("word", title="The thing you change every 90 days"), Text("note"))
    found = judge_form("Before we start", form)
    waiting = replace(form_question("Before we start", form), secrets=found)
    assert not fill(form, {"word": "heron"}, waiting.doubts).secrets  # the policy allows it
    warned = waiting.warned(tuple(each.reason for each in found))
    assert fill(form, {"note": "no"}, warned.doubts).secrets == ()
    filled = fill(form, {"word": "heron", "note": "no"}, warned.doubts)
    assert [each.reason for each in filled.secrets] == list(warned.warnings)
    assert filled.sendable
    assert filled.odd
    assert present(warned).warnings == warned.warnings


@pytest.mark.parametrize(
    ("language", "typed"), [(GERMAN, "28.07.2026"), (AMERICAN, "07/28/2026"), (ENGLISH, "2026-07-28")]
)
def test_a_date_is_typed_as_its_language_writes_it(language: Language, typed: str) -> None:
    day = Text("day", format="date")
    assert as_typed(day, "2026-07-28", language, dates=True) == typed
    assert read_field(day, typed, language)[0] == "2026-07-28"
    assert as_typed(day, "2026-07-28", language) == "2026-07-28"  # a browser has a control for it


def test_a_moment_is_typed_in_the_own_form_only_where_it_is_read_as_the_same() -> None:
    when = Text("when", format="date-time")
    here = datetime(2026, 7, 28, 15, 30).astimezone().isoformat()
    assert as_typed(when, here, GERMAN, dates=True) == "28.07.2026 15:30"
    for kept in ("2026-07-28T15:30:07+00:00", "2026-07-28T15:30:00+13:45", "soon"):
        assert as_typed(when, kept, GERMAN, dates=True) == kept


def test_a_moment_stands_in_a_browser_as_local_time_and_only_where_that_is_exact() -> None:
    vienna = ZoneInfo("Europe/Vienna")
    assert local_moment("2026-07-28T13:30:00Z", vienna) == "2026-07-28T15:30"
    assert local_moment("2026-07-28T15:30:00+02:00", vienna) == "2026-07-28T15:30"
    assert local_moment("2026-07-28T13:30:07Z", vienna) == ""  # seconds would be lost
    assert local_moment("2026-10-25T01:30:00Z", vienna) == ""  # 02:30 is there twice
    assert local_moment("soon", vienna) == ""


def test_the_last_answer_stands_before_what_the_server_suggests() -> None:
    form = Form.by_hand(Text("name", default="Ada"), Integer("count", default=3))
    assert suggest(form, {"name": "Grace"}) == {"name": "Grace", "count": "3"}
    assert take_draft(form, {}, {"name": "Grace"})["name"] == "Grace"
    assert take_draft(form, {"name": "Mary"}, {"name": "Grace"})["name"] == "Mary"


@pytest.mark.shows("F4")
def test_a_draft_knows_a_cleared_suggestion_from_one_that_is_an_empty_text() -> None:
    form = Form.by_hand(Text("empty", default=""), Text("full", default="x"), Text("none"))
    assert take_draft(form, {}) == {"empty": "", "full": "x"}
    given: list[Entries] = [{}, {"empty": ""}, {"empty": "a", "full": "b", "none": "c"}]
    for kept in given:
        draft = draft_of(form, kept)
        assert draft, "nothing kept is a draft, too"
        assert take_draft(form, draft, {"full": "the last answer"}) == kept
