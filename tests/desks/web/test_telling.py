"""How a question ended, for somebody who comes late."""

from __future__ import annotations

import pytest

from handraise.desks import Decision
from handraise.desks.web.telling import ago, left, tell
from handraise.questions import Accepted, Cancelled, Declined


@pytest.mark.shows("D8")
@pytest.mark.parametrize(
    ("decision", "heading", "sentence"),
    [
        (
            Decision(Declined(), desk="terminal", at=7.0),
            "Declined",
            "Answered at the terminal 3 seconds ago: declined.",
        ),
        (
            Decision(Accepted({}), desk="web", at=10.0),
            "Accepted",
            "Answered in the browser just now: accepted.",
        ),
        (
            Decision(Cancelled(), desk="x", at=9.9),
            "Cancelled",
            "Answered at another desk just now: cancelled.",
        ),
        (
            Decision(Cancelled(), by="timeout", at=8.0),
            "Expired",
            "Nobody answered in time. It ended 2 seconds ago; nothing was sent.",
        ),
        (
            Decision(Cancelled(), by="policy", reason="quiet time", at=9.0),
            "Decided by a rule",
            "One of your rules cancelled it just now: quiet time.",
        ),
        (
            Decision(Declined(), desk="web", block="always", at=9.0),
            "Declined",
            "Answered in the browser just now: declined. The server is blocked.",
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
