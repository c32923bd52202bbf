"""How a question ended, for somebody who comes late."""

from __future__ import annotations

import pytest

from handraise.desks import Decision
from handraise.desks.telling import ago, left, short_left, tell
from handraise.questions import Accepted, Cancelled, Declined


@pytest.mark.shows("D8")
@pytest.mark.parametrize(
    ("decision", "heading", "sentence"),
    [
        (
            Decision(Declined(), desk="terminal", at=7.0),
            "Declined",
            "It was answered at the terminal 3 seconds ago: declined.",
        ),
        (
            Decision(Accepted({}), desk="web", at=10.0),
            "Accepted",
            "It was answered in the browser just now: accepted.",
        ),
        (
            Decision(Accepted({}), desk="web", reason="It reached nothing.", at=10.0),
            "Accepted",
            "It was answered in the browser just now: accepted. It reached nothing.",
        ),
        (
            Decision(Cancelled(), desk="x", at=9.9),
            "Cancelled",
            "It was answered at another desk just now: cancelled.",
        ),
        (
            Decision(Cancelled(), by="timeout", at=8.0),
            "Expired",
            "Nobody answered in time. Nothing was sent. It ended 2 seconds ago.",
        ),
        (
            Decision(Cancelled(), by="policy", reason="quiet time", at=9.0),
            "Decided by a rule",
            "One of your rules cancelled it just now: quiet time.",
        ),
        (
            Decision(Declined(), desk="web", block="always", at=9.0),
            "Declined",
            "It was answered in the browser just now: declined. The server is blocked.",
        ),
        (
            Decision(Accepted({}), desk="command", at=9.0),
            "Accepted",
            "It was answered with handraise answer just now: accepted.",
        ),
        (
            Decision(Accepted({}), by="agent", desk="script", at=9.0),
            "Accepted",
            "It was answered by a script just now: accepted.",
        ),
        (
            Decision(Cancelled(), by="agent", at=9.0),
            "Withdrawn",
            "The asker went away just now. There is nothing left to answer.",
        ),
    ],
)
def test_an_ending_says_what_where_and_when(decision: Decision, heading: str, sentence: str) -> None:
    ending = tell(decision, 10.0)
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
    assert ago(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "less than a minute"),
        (59, "less than a minute"),
        (299, "about 4 minutes"),
        (3600, "about 1 hour"),
        (200000, "about 2 days"),
    ],
)
def test_the_time_that_is_left_is_never_too_much(seconds: float, words: str) -> None:
    assert left(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "0 s left"), (59.9, "59 s left"), (299, "4 min left"), (200000, "2 days left")],
)
def test_where_there_is_little_room_the_time_is_short(seconds: float, words: str) -> None:
    assert short_left(seconds) == words


def test_whoever_sat_there_is_not_told_when() -> None:
    assert tell(Decision(Declined(), desk="web")).sentence == "It was answered in the browser: declined."


def test_what_waited_for_a_browser_went_on_and_was_not_withdrawn() -> None:
    gone = Decision(Cancelled(), by="agent", at=9.9)
    assert tell(gone, 10.0).heading == "Withdrawn"
    assert (
        tell(gone, 10.0, browsing=True).sentence == "The call went on just now. There is nothing left to say."
    )
