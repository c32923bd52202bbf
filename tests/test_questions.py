"""Answers as values: told apart by what they are, never by whether they are true."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise import Accepted, Cancelled, Declined, Fallback
from handraise.errors import Stopped, UsageError
from handraise.ledger.events import Principal
from handraise.questions import Person, with_reasons


@pytest.mark.shows("O1")
@pytest.mark.parametrize(
    "answer",
    [Accepted(True), Accepted(False), Declined(), Declined(by="answer"), Cancelled(), Fallback(True)],
)
def test_an_answer_is_neither_true_nor_false(answer: object) -> None:
    """If it were, `if await ask.confirm("Delete it?")` would delete it after a decline."""
    with pytest.raises(UsageError, match=r"^(Accepted|Declined|Cancelled|Fallback) is neither .*or_stop"):
        bool(answer)


def test_answers_are_compared_and_matched() -> None:
    assert Accepted(1) == Accepted(1)
    assert Declined() != Cancelled()  # type: ignore[comparison-overlap]
    assert [Declined(), Cancelled()].index(Cancelled()) == 1
    match Accepted("tea"):
        case Accepted(what):
            assert what == "tea"


def test_or_stop_goes_on_with_data_and_with_a_fallback_and_ends_the_call_on_a_no() -> None:
    assert Accepted("tea").or_stop("No tea.") == "tea"
    assert Fallback("water").or_stop("No tea.") == "water"
    for answer in (Declined(), Declined(by="answer"), Cancelled()):
        with pytest.raises(Stopped, match=r"^No tea\.$") as stopped:
            answer.or_stop("No tea.")
        assert stopped.value.action == answer.action
        with pytest.raises(Stopped, match=r"^The person (declined|dismissed)"):
            answer.or_stop()


# Short texts of the characters that keys are made of, and any text at all.
TEXTS = st.text(st.sampled_from(':"\\,[] a')) | st.text()
PEOPLE = st.builds(Person, TEXTS, TEXTS, st.sampled_from(["token", "system", "anonymous"]))


@pytest.mark.shows("L11")
def test_a_port_in_the_issuer_is_not_taken_for_a_part_of_the_subject() -> None:
    """With two issuers, one of them could otherwise name its subject so that it gets the other one's secrets."""
    plain = Person("https://id.example.com", "8443:ann", "token")
    with_port = Person("https://id.example.com:8443", "ann", "token")
    assert plain.key != with_port.key


@pytest.mark.shows("L11")
@given(PEOPLE, PEOPLE)
def test_two_people_never_have_the_same_key(one: Person, other: Person) -> None:
    assert (one.key == other.key) == (one == other)


@pytest.mark.shows("L11")
@given(TEXTS, TEXTS, st.data())
def test_no_way_to_divide_a_text_between_issuer_and_subject_gives_the_same_key(
    issuer: str, subject: str, data: st.DataObject
) -> None:
    whole = f"{issuer}:{subject}"
    at = data.draw(st.integers(0, len(whole)))
    how: Literal["token"] = "token"
    other = Person(whole[:at], whole[at + 1 :], how)
    assert (Person(issuer, subject, how).key == other.key) == (
        (issuer, subject) == (other.issuer, other.subject)
    )


@given(PEOPLE)
def test_the_ledger_knows_a_person_by_the_same_key(person: Person) -> None:
    assert Principal(person.issuer, person.subject, person.how).key == person.key


@pytest.mark.parametrize(("left", "told"), [(0, ""), (3, ""), (4, "\n…"), (5, "\n\n…"), (6, "\n\nT…")])
def test_of_reasons_only_what_has_room_is_told(left: int, told: str) -> None:
    message = "Who are you, über?"
    assert with_reasons(message, ["Too long."], len(message.encode()) + left) == message + told


def test_reasons_that_just_fit_are_told_to_their_end() -> None:
    whole = with_reasons("Who?", ["Too long.", "Too odd."])
    assert whole == "Who?\n\nThe last answer could not be used:\n- Too long.\n- Too odd."
    assert with_reasons("Who?", ["Too long.", "Too odd."], len(whole)) == whole
    assert with_reasons("Who?", ["Too long.", "Too odd."], len(whole) - 1).endswith("- Too …")
