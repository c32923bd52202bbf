"""The journal: what a handler was told is told again when it is replayed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.calls import JournalEntry
from handraise.calls.rounds import Journal, canonical, digest, keyed_id


def answer(key: str, value: Any = None, pin: str | None = None) -> JournalEntry:
    return JournalEntry("answer", key, pin or f"pin of {key}", value or f"answer to {key}")


def recalled(journal: Journal, key: str, pin: str | None = None) -> Any:
    entry = journal.recall(key, pin or f"pin of {key}")
    return None if entry is None else entry.value


@pytest.mark.shows("C6")
def test_answers_are_told_again_each_to_its_own_question() -> None:
    journal = Journal([answer("a"), answer("b")])
    assert recalled(journal, "a") == "answer to a"
    assert recalled(journal, "b") == "answer to b"
    assert recalled(journal, "c") is None


def test_the_same_question_asked_twice_gets_its_answers_in_order() -> None:
    journal = Journal([answer("next", "one"), answer("next", "two")])
    assert [recalled(journal, "next") for _ in range(3)] == ["one", "two", None]


def test_sibling_questions_get_their_own_answers_whatever_their_order() -> None:
    journal = Journal([answer("b"), answer("a"), answer("c")])
    assert [recalled(journal, key) for key in "abc"] == ["answer to a", "answer to b", "answer to c"]


@pytest.mark.shows("C4")
@pytest.mark.parametrize("shown", ["", "c", "b"])
def test_a_question_in_other_words_is_asked_and_so_is_everything_after_it(shown: str) -> None:
    journal = Journal([answer("a"), answer("b"), answer("c")], shown)
    assert recalled(journal, "a") == "answer to a"
    assert recalled(journal, "b", pin="other words") is None
    assert journal.for_round() == (answer("a"),)
    assert recalled(journal, "c") is None
    assert recalled(journal, "b") is None


@pytest.mark.shows("C4")
def test_a_question_that_was_not_asked_before_is_asked_and_so_is_everything_after_it() -> None:
    journal = Journal([answer("a"), answer("b")])
    assert recalled(journal, "new") is None
    assert journal.for_round() == ()
    assert recalled(journal, "a") is None
    assert recalled(journal, "b") is None


@pytest.mark.shows("C5", "C6")
def test_until_a_new_question_is_sent_its_siblings_get_their_answers() -> None:
    journal = Journal([answer("a"), answer("b"), answer("c")])
    assert recalled(journal, "a") == "answer to a"
    assert recalled(journal, "after a") is None
    assert recalled(journal, "b") == "answer to b"
    assert journal.for_round() == (answer("a"), answer("b"))
    assert recalled(journal, "c") is None


@pytest.mark.shows("C5", "C6")
@pytest.mark.parametrize("given", [[], [answer("a", "of no use")]], ids=["not answered", "not well"])
def test_a_question_of_the_last_round_is_asked_again_and_its_siblings_keep_their_answers(given: Any) -> None:
    journal = Journal([*given, answer("b")], {"a": "pin of a", "b": "pin of b"})
    if given:
        assert recalled(journal, "a") == "of no use"
        assert recalled(journal, "a", pin="with reasons") is None
    else:
        assert recalled(journal, "a") is None
    assert journal.for_round() == (*given, answer("b"))
    assert recalled(journal, "b") == "answer to b"


def test_an_answer_never_serves_another_question_in_the_same_words() -> None:
    journal = Journal([answer("a", pin="Sure?")])
    assert recalled(journal, "b", pin="Sure?") is None


def test_the_answer_to_a_changed_question_replaces_the_forgotten_one() -> None:
    journal = Journal([answer("a"), answer("b", "old"), JournalEntry("once", "step", "", 1)])
    recalled(journal, "a")
    assert recalled(journal, "b", pin="new words") is None
    journal.for_round()
    journal.add("answer", "b", "new words", "new")
    assert journal.entries == [
        answer("a"),
        JournalEntry("once", "step", "", 1),
        answer("b", "new", "new words"),
    ]


@pytest.mark.shows("C6")
def test_a_question_that_nobody_answered_is_not_asked_again_and_the_next_one_keeps_its_answer() -> None:
    journal = Journal()
    journal.add("expired", "quick", "pin of quick", None)
    journal.add("answer", "slow", "pin of slow", "late")
    again = Journal(journal.entries)
    assert again.recall("quick", "pin of quick") == JournalEntry("expired", "quick", "pin of quick", None)
    assert recalled(again, "slow") == "late"


def test_answers_that_just_came_are_not_told_again_in_the_same_run() -> None:
    journal = Journal()
    journal.add("answer", "a", "pin of a", "now")
    assert recalled(journal, "a") is None
    assert recalled(Journal(journal.entries), "a") == "now"


@pytest.mark.shows("C6")
def test_steps_are_found_by_their_key_whatever_the_order_and_whatever_was_asked() -> None:
    journal = Journal(
        [answer("a"), JournalEntry("once", "one", "", {"id": 1}), JournalEntry("once", "two", "", None)]
    )
    assert recalled(journal, "new") is None
    assert journal.steps == {"one": {"id": 1}, "two": None}


def test_a_step_that_was_just_done_is_known_now_and_later() -> None:
    journal = Journal()
    assert journal.add("once", "one", "", [1]) == JournalEntry("once", "one", "", [1])
    assert journal.steps == {"one": [1]}
    assert Journal(journal.entries).steps == {"one": [1]}


@pytest.mark.shows("C6")
def test_a_handler_that_changes_an_answer_does_not_change_the_journal() -> None:
    journal = Journal([answer("a", {"tags": ["told"]})])
    recalled(journal, "a")["tags"].append("changed")
    given: Any = {"tags": ["given"]}
    journal.add("answer", "b", "pin of b", given)
    given["tags"].append("changed")
    assert journal.entries == [answer("a", {"tags": ["told"]}), answer("b", {"tags": ["given"]})]


def test_a_step_may_give_anything_while_nothing_is_replayed() -> None:
    journal = Journal()
    thing = object()
    journal.add("once", "open", "", thing)
    assert journal.steps["open"] is thing


@pytest.mark.shows("C6")
def test_the_authors_verdict_on_an_answer_is_given_again_once_in_its_order() -> None:
    journal = Journal()
    journal.add("judged", "", "pin", "too long")
    journal.add("judged", "", "pin", None)
    assert journal.verdict("pin") is None, "the same run judges anew"
    again = Journal(journal.entries)
    assert again.verdict("other") is None
    assert [again.verdict("pin"), again.verdict("pin")] == journal.entries
    assert again.verdict("pin") is None


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
        ([1], {"1": 1}),
        ({"a": None}, {}),
        ("é", "e\u0301"),
    ],
)
def test_values_that_look_alike_have_different_digests(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)


def test_a_digest_is_the_same_in_another_process() -> None:
    value = {"message": "Größe? 📏", "count": 2.5, "of": ["b", "a"]}
    code = f"from handraise.calls.rounds import digest; print(digest({value!r}))"
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


@pytest.mark.parametrize("value", ["\ud800", {"\udfff": 1}, float("nan"), float("inf"), 10**400])
def test_every_argument_has_a_digest(value: Any) -> None:
    assert digest([value]) == digest([value]) != digest([])
