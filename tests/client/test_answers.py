"""What leaves of a decision."""

from __future__ import annotations

from typing import Any

import pytest
from tests.desks.questions import form_question, link_question

from handraise.client.answers import checked, dump_as_answer
from handraise.desks import Decision
from handraise.forms import Flag, Form, Text
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
    assert left == Decision(Cancelled(), by=by, desk="web", reason=reason, refusal="answer")
    assert dump_as_answer(left) == {"action": "cancel", "_meta": {"handraise/refused": "answer"}}


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


@pytest.mark.shows("O8")
def test_a_no_is_noted_as_a_no_and_sent_as_an_accept_with_false() -> None:
    asked = form_question("Delete 47 files?", Form.by_hand(Flag("answer")))
    said = checked(asked, Decision(Accepted({"answer": False})))
    assert said.said_no
    assert dump_as_answer(said) == {"action": "accept", "content": {"answer": False}}
    assert not checked(asked, Decision(Accepted({"answer": True}))).said_no
    assert not checked(asked, Decision(Declined())).said_no


def test_a_link_is_agreed_to_without_content() -> None:
    agreed = Decision(Accepted(None))
    assert checked(link_question(), agreed) is agreed
    assert dump_as_answer(agreed) == {"action": "accept"}
