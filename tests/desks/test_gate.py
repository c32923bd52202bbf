"""From the policy to the desk, and what the policy learns from a decision."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.desks.questions import form_question, link_question

from handraise.desks import Cause, Decision
from handraise.desks.gate import PolicyGate
from handraise.forms import Form, Text
from handraise.policy import OwnRule, Policy, Settings
from handraise.policy.files import OwnRules
from handraise.policy.settings import LimitSettings
from handraise.questions import Accepted, Cancelled, Declined
from handraise.secrets import SecretFinding
from handraise.urls import inspect_url


def test_an_ordinary_question_passes() -> None:
    assert PolicyGate(Policy()).admit(form_question(), 0.0).verdict == "allow"


def test_what_the_rules_refuse_costs_the_server_nothing_of_its_limits() -> None:
    gate = PolicyGate(Policy(Settings(limits=LimitSettings(per_minute=1))))
    refused = gate.admit(form_question(form=Form.by_hand(Text("password"))), 0.0)
    assert (refused.verdict, refused.rules) == ("refuse", ("forms.credentials",))
    assert gate.admit(form_question(), 0.0).verdict == "allow"
    assert gate.admit(form_question("Another?"), 0.0).rules == ("limits",)


@pytest.mark.slow
@pytest.mark.shows("D6")
def test_three_thousand_questions_of_one_call_become_a_handful_and_a_refusal() -> None:
    gate, cause = PolicyGate(Policy()), Cause((("delete_note", {}),), call_id="call")
    rulings = [gate.admit(form_question(f"Number {n}?", cause=cause), 0.0) for n in range(3000)]
    assert [ruling.verdict for ruling in rulings].count("allow") == 5
    assert rulings[-1].verdict == "refuse"


@pytest.mark.shows("D6")
def test_the_same_question_of_the_same_call_is_told_to_be_the_one_that_waits() -> None:
    gate, cause = PolicyGate(Policy()), Cause((("delete_note", {}),), call_id="call")
    first = form_question(cause=cause)
    assert gate.admit(first, 0.0).same_as is None
    assert gate.admit(form_question(cause=cause), 0.0).same_as == first.id


@pytest.mark.shows("X4")
def test_the_same_question_of_an_equal_call_stays_its_own() -> None:
    gate = PolicyGate(Policy())
    for call in ("first", "second"):
        cause = Cause((("delete_note", {"title": "Plans"}),), call_id=call)
        assert gate.admit(form_question(cause=cause), 0.0).same_as is None


@pytest.mark.shows("X4")
@pytest.mark.parametrize("cause", [None, Cause((("a", {}), ("b", {})), certain=False)])
def test_the_same_question_of_nobody_knows_which_call_stays_its_own(cause: Cause | None) -> None:
    gate = PolicyGate(Policy())
    for _ in range(2):
        assert gate.admit(form_question(cause=cause), 0.0).same_as is None


@pytest.mark.shows("D6")
def test_after_a_persons_decline_the_server_is_quiet_for_a_while() -> None:
    gate, waiting = PolicyGate(Policy()), form_question()
    gate.admit(waiting, 0.0)
    gate.decided(waiting, Decision(Declined()), 1.0)
    assert gate.admit(form_question(), 5.0).verdict == "refuse"
    assert gate.admit(form_question(), 6.0).verdict == "allow"


@pytest.mark.parametrize(
    "decision", [Decision(Cancelled()), Decision(Accepted({})), Decision(Declined(), by="policy")]
)
def test_any_other_decision_brings_no_quiet(decision: Decision) -> None:
    gate, waiting = PolicyGate(Policy()), form_question()
    gate.admit(waiting, 0.0)
    gate.decided(waiting, decision, 1.0)
    assert gate.admit(form_question(), 1.0).verdict == "allow"


@pytest.mark.shows("D5")
@pytest.mark.parametrize(("how", "kept"), [("session", False), ("always", True)])
def test_the_block_button_makes_a_rule_for_the_session_or_for_good(
    how: Any, kept: bool, tmp_path: Path
) -> None:
    own, waiting = OwnRules(tmp_path / "rules.json"), form_question()
    gate = PolicyGate(Policy(own=own))
    gate.admit(waiting, 0.0)
    gate.decided(waiting, Decision(Declined(), block=how), 7.0)
    (rule,) = own.book().entries
    assert rule == OwnRule("notes", "block", made=7.0, person=waiting.person.key)
    assert own.keeps(rule) is kept


def test_a_blocked_server_asks_no_more() -> None:
    gate, waiting = PolicyGate(Policy()), form_question()
    gate.admit(waiting, 0.0)
    gate.decided(waiting, Decision(Declined(), block="session"), 1.0)
    assert gate.admit(form_question(), 1e6).reasons == ("You blocked notes.",)


def test_the_worse_of_two_looks_at_a_link_counts() -> None:
    seen_from_afar = inspect_url("http://127.0.0.1:1/", transport="http")
    waiting = replace(link_question("http://127.0.0.1:1/"), link=seen_from_afar)
    assert PolicyGate(Policy()).admit(waiting, 0.0).verdict == "refuse"


@pytest.mark.shows("S3")
def test_what_questions_of_a_call_ask_for_together_is_warned_of() -> None:
    found = SecretFinding("v", 2, "pin", "This may be asking for a PIN.", doubtful=True)
    ruling = PolicyGate(Policy()).admit(replace(form_question(), secrets=(found,)), 0.0)
    assert (ruling.verdict, ruling.reasons) == ("warn", (found.reason,))
