"""What a body was told, told again."""

from __future__ import annotations

from typing import Any

import pytest

from handraise.conversation import Entry
from handraise.conversation.journal import Journal


def answer(key: str, value: Any = None, pin: str | None = None) -> Entry:
    return Entry("answer", key, pin or f"pin of {key}", value or f"answer to {key}")


def recalled(journal: Journal, key: str, pin: str | None = None) -> Any:
    entry = journal.recall(key, pin or f"pin of {key}")
    return None if entry is None else entry.value


@pytest.mark.shows("C6")
def test_answers_are_told_again_each_to_its_own_question() -> None:
    journal = Journal([answer("a"), answer("b")])
    assert recalled(journal, "a") == "answer to a"
    assert recalled(journal, "b") == "answer to b"
    assert recalled(journal, "c") is None


def test_an_empty_journal_knows_nothing() -> None:
    journal = Journal()
    assert recalled(journal, "a") is None
    assert not journal.has_done("a")
    assert journal.entries == []


def test_an_answer_is_told_once_in_a_run() -> None:
    journal = Journal([answer("a")])
    assert recalled(journal, "a") == "answer to a"
    assert recalled(journal, "a") is None


def test_the_same_question_asked_twice_gets_its_answers_in_order() -> None:
    journal = Journal([answer("next", "one"), answer("next", "two")])
    assert [recalled(journal, "next") for _ in range(3)] == ["one", "two", None]


def test_questions_of_the_same_breath_get_their_own_answers_whatever_the_order_they_were_given_in() -> None:
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


def test_what_is_asked_again_replaces_what_was_forgotten() -> None:
    journal = Journal([answer("a"), answer("b", "old"), Entry("once", "step", "", 1)])
    recalled(journal, "a")
    assert recalled(journal, "b", pin="new words") is None
    journal.for_round()
    journal.answered("b", "new words", "new")
    assert journal.entries == [answer("a"), Entry("once", "step", "", 1), answer("b", "new", "new words")]


@pytest.mark.shows("C6")
def test_a_question_that_nobody_answered_is_not_asked_again_and_the_next_one_keeps_its_answer() -> None:
    journal = Journal()
    journal.expired("quick", "pin of quick")
    journal.answered("slow", "pin of slow", "late")
    again = Journal(journal.entries)
    assert again.recall("quick", "pin of quick") == Entry("expired", "quick", "pin of quick", None)
    assert recalled(again, "slow") == "late"


def test_answers_that_just_came_are_not_told_again_in_the_same_run() -> None:
    journal = Journal()
    journal.answered("a", "pin of a", "now")
    assert recalled(journal, "a") is None
    assert recalled(Journal(journal.entries), "a") == "now"


@pytest.mark.shows("C6")
def test_steps_are_found_by_their_key_whatever_the_order_and_whatever_was_asked() -> None:
    journal = Journal([answer("a"), Entry("once", "one", "", {"id": 1}), Entry("once", "two", "", None)])
    assert recalled(journal, "new") is None
    assert journal.has_done("two")
    assert journal.result_of("two") is None
    assert journal.result_of("one") == {"id": 1}
    assert not journal.has_done("three")


def test_a_step_that_was_just_done_is_known_now_and_later() -> None:
    journal = Journal()
    assert journal.done("one", [1]) == Entry("once", "one", "", [1])
    assert journal.result_of("one") == [1]
    assert Journal(journal.entries).result_of("one") == [1]


@pytest.mark.shows("C6")
def test_a_body_that_changes_an_answer_does_not_change_the_journal() -> None:
    journal = Journal([answer("a", {"tags": ["told"]})])
    recalled(journal, "a")["tags"].append("changed")
    given: Any = {"tags": ["given"]}
    journal.answered("b", "pin of b", given)
    given["tags"].append("changed")
    assert journal.entries == [answer("a", {"tags": ["told"]}), answer("b", {"tags": ["given"]})]


def test_a_step_may_give_anything_while_nothing_is_replayed() -> None:
    journal = Journal()
    thing = object()
    journal.done("open", thing)
    assert journal.result_of("open") is thing


@pytest.mark.shows("C6")
def test_what_the_author_said_of_an_answer_is_told_again_once_in_its_order() -> None:
    journal = Journal()
    journal.judged("pin", "too long")
    journal.judged("pin", None)
    assert journal.verdict("pin") is None, "the same run judges anew"
    again = Journal(journal.entries)
    assert again.verdict("other") is None
    assert [again.verdict("pin"), again.verdict("pin")] == journal.entries
    assert again.verdict("pin") is None
