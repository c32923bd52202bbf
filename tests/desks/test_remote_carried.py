"""Questions and decisions come over as they were."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.desks.questions import form_question, link_question

from handraise.desks import Cause, Decision, Waiting
from handraise.desks.remote import dump_decision, dump_waiting, parse_decision, parse_waiting
from handraise.questions import Accepted, Cancelled, Declined
from handraise.secrets import SecretFinding
from handraise.urls import inspect_url

FULL = replace(
    form_question(),
    cause=Cause((("rename", {"title": "ü", "deep": [1, {"a": None}]}),), certain=False, call_id="c"),
    secrets=(SecretFinding("name", 2, "national id", "it asks for one"),),
    warnings=("look twice",),
    group="g",
    deadline=5.0,
)


@pytest.mark.parametrize(
    "waiting",
    [
        form_question(),
        FULL,
        replace(
            link_question(), link=inspect_url("https://example.com/a?b=c"), browsing=True, asked_again=True
        ),
    ],
    ids=["form", "everything", "link"],
)
def test_a_question_is_the_same_on_the_other_side(waiting: Waiting) -> None:
    assert parse_waiting(json.loads(json.dumps(dump_waiting(waiting)))) == waiting


@pytest.mark.parametrize(
    "decision",
    [
        Decision(Accepted({"a": [1, "ü"]}), desk="terminal", edited=("a",)),
        Decision(Accepted(None)),
        Decision(Declined(), block="always"),
        Decision(Cancelled(), by="timeout", reason="nobody answered in time"),
    ],
)
def test_a_decision_is_the_same_on_the_other_side(decision: Decision) -> None:
    assert parse_decision(json.loads(json.dumps(dump_decision(decision, with_content=True)))) == decision


def test_what_was_answered_is_told_to_nobody_but_who_asks() -> None:
    told = dump_decision(Decision(Accepted({"a": "private"})), with_content=False)
    assert "private" not in json.dumps(told)


@pytest.mark.parametrize("wrong", [{"action": "agree"}, {"block": "forever"}, {"content": [1]}])
def test_what_is_no_decision_is_refused(wrong: dict[str, Any]) -> None:
    told = {**dump_decision(Decision(Declined()), with_content=True), **wrong}
    with pytest.raises((KeyError, ValueError)):
        parse_decision(told)
