"""What leaves of a decision."""

from __future__ import annotations

from typing import Any

import pytest
from tests.desks.questions import form_question, link_question

from handraise.client.answers import checked, dump_as_answer
from handraise.desks import Decision
from handraise.forms import Form, Text
from handraise.questions import Accepted, Cancelled, Declined

NAME = form_question(form=Form.by_hand(Text("name", min_length=2)))


@pytest.mark.parametrize(
    ("content", "by", "reason"),
    [
        ({"name": "x"}, "agent", "the answer did not fit the form"),
        ({"name": "sk-ant-api03-" + "Ab3" * 31 + "AA"}, "policy", "the answer held a secret"),
    ],
)
def test_an_answer_that_may_not_leave_becomes_a_cancel_that_says_why(
    content: dict[str, Any], by: Any, reason: str
) -> None:
    left = checked(NAME, Decision(Accepted(content), desk="web"))
    assert left == Decision(Cancelled(), by=by, desk="web", reason=reason)


@pytest.mark.parametrize(
    ("decision", "sent"),
    [
        (Decision(Accepted({"name": "Ada"})), {"action": "accept", "content": {"name": "Ada"}}),
        (Decision(Declined()), {"action": "decline"}),
        (Decision(Cancelled()), {"action": "cancel"}),
    ],
)
def test_what_may_leave_is_sent_as_it_was_decided(decision: Decision, sent: dict[str, Any]) -> None:
    assert checked(NAME, decision) is decision
    assert dump_as_answer(decision) == sent


def test_a_link_is_agreed_to_without_content() -> None:
    agreed = Decision(Accepted(None))
    assert checked(link_question(), agreed) is agreed
    assert dump_as_answer(agreed) == {"action": "accept"}
