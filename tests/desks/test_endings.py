"""How a question ended, for somebody who comes late."""

from __future__ import annotations

import pytest
from tests.desks.questions import form_question, link_question

from handraise.desks import Decision
from handraise.desks.endings import describe_ending
from handraise.desks.language import ENGLISH, GERMAN
from handraise.forms import Flag, Form
from handraise.questions import Accepted, Cancelled, Declined

WAITING = form_question()
CONFIRMATION = form_question("Go on?", Form.by_hand(Flag("answer")))


@pytest.mark.shows("D8")
@pytest.mark.parametrize(
    ("decision", "heading", "sentence"),
    [
        (
            Decision(Declined(), desk="terminal", at=7.0),
            "Declined",
            "It ended at the terminal 3 seconds ago.",
        ),
        (
            Decision(Accepted({}), desk="web", at=10.0),
            "Sent",
            "It was answered in the browser just now.",
        ),
        (
            Decision(Accepted({}), desk="web", reason="It reached nothing.", at=10.0),
            "Sent",
            "It was answered in the browser just now. It reached nothing.",
        ),
        (
            Decision(Accepted({}), desk="web", unattended=True, at=10.0),
            "Sent",
            "It was answered in the browser just now. "
            "Your client does not wait any more. Tell it that you answered.",
        ),
        (
            Decision(Cancelled(), desk="x", at=9.9),
            "Cancelled",
            "It ended at another desk just now.",
        ),
        (
            Decision(Cancelled(), by="timeout", at=8.0),
            "Expired",
            "Nobody answered in time. Nothing was sent. It ended 2 seconds ago.",
        ),
        (
            Decision(Cancelled(), by="policy", reason="quiet time", at=9.0),
            "Decided by a rule",
            "One of your rules decided it just now. quiet time",
        ),
        (
            Decision(Declined(), desk="web", block="always", at=9.0),
            "Declined",
            "It ended in the browser just now. The server is blocked.",
        ),
        (
            Decision(Accepted({}), desk="command", at=9.0),
            "Sent",
            "It was answered with handraise answer just now.",
        ),
        (
            Decision(Accepted({}), by="agent", desk="script", at=9.0),
            "Sent",
            "It was answered by a script just now.",
        ),
        (
            Decision(Cancelled(), by="agent", at=9.0),
            "Withdrawn",
            "The question was withdrawn just now. There is nothing left to answer.",
        ),
    ],
)
def test_an_ending_says_what_where_and_when(decision: Decision, heading: str, sentence: str) -> None:
    ending = describe_ending(WAITING, decision, 10.0)
    assert (ending.heading, ending.sentence) == (heading, sentence)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "just now"),
        (1, "just now"),
        (59, "59 seconds ago"),
        (60, "1 minute ago"),
        (7300, "2 hours ago"),
        (90000, "1 day ago"),
    ],
)
def test_times_are_rough(seconds: float, words: str) -> None:
    assert ENGLISH.ago(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0 seconds left"),
        (59.9, "59 seconds left"),
        (299, "4 minutes left"),
        (3600, "1 hour left"),
        (200000, "2 days left"),
    ],
)
def test_the_time_that_is_left_is_never_too_much(seconds: float, words: str) -> None:
    assert ENGLISH.left(seconds) == words


@pytest.mark.shows("O8")
def test_a_no_is_told_as_a_no_in_every_language() -> None:
    said = Decision(Accepted({"answer": False}), desk="web", said_no=True)
    assert describe_ending(CONFIRMATION, said).heading == "You said no"
    assert describe_ending(CONFIRMATION, said).mark == "said_no"
    assert describe_ending(CONFIRMATION, said, language=GERMAN).heading == "Sie haben Nein gesagt"


def test_a_yes_and_a_consent_to_a_link_are_told_as_what_they_are() -> None:
    assert (
        describe_ending(CONFIRMATION, Decision(Accepted({"answer": True}), desk="web")).heading
        == "You said yes"
    )
    opened = Decision(Accepted(None), desk="web")
    assert describe_ending(link_question(), opened).heading == "You agreed to open the link"


def test_german_sentences_say_when_before_where() -> None:
    for answer, said in (
        (Accepted({}), "Sie wurde gerade eben im Browser beantwortet."),
        (Declined(), "Sie endete gerade eben im Browser."),
    ):
        ending = describe_ending(WAITING, Decision(answer, desk="web", at=9.9), 10.0, language=GERMAN)
        assert ending.sentence == said


def test_whoever_sat_there_is_not_told_when() -> None:
    assert (
        describe_ending(WAITING, Decision(Accepted({}), desk="web")).sentence
        == "It was answered in the browser."
    )


def test_what_waited_for_a_browser_went_on_and_was_not_withdrawn() -> None:
    gone = Decision(Cancelled(), by="agent", at=9.9)
    assert describe_ending(link_question(), gone, 10.0).heading == "Withdrawn"
    told = describe_ending(link_question(browsing=True), gone, 10.0)
    assert told.sentence == "The call went on just now. There is nothing left to do."
