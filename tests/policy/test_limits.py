"""How much one server may ask one person."""

from __future__ import annotations

import random
import sys
from itertools import count as counting

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.asked import form, link

from handraise.forms import Text
from handraise.policy import (
    Admitted,
    CountedQuestion,
    JoinsWaiting,
    LimitDecision,
    OverLimit,
    RateLimits,
    Settings,
    sameness_of,
)
from handraise.policy.limits import HOUR, MINUTE, AskTally, admit, settle
from handraise.policy.settings import LimitSettings, ServerSettings
from handraise.questions import Action, Question, UrlQuestion

_IDS = counting()


def ask(
    call: str | None = None, same: str | None = None, server: str = "notes", person: str = "ada"
) -> CountedQuestion:
    number = str(next(_IDS))
    return CountedQuestion(number, server, person, same or number, call)


def limits(**bounds: float) -> RateLimits:
    return RateLimits(Settings(limits=LimitSettings(**bounds)))  # type: ignore[arg-type]


def reason(admission: LimitDecision) -> str:
    assert isinstance(admission, OverLimit), admission
    return admission.reason


@pytest.mark.shows("D6")
def test_three_thousand_questions_of_one_call_become_a_handful_and_a_refusal() -> None:
    here = RateLimits()
    said = [here.admit(ask("call"), now=0.0) for _ in range(3000)]
    assert said.count(Admitted()) == LimitSettings().per_round == 5
    assert reason(said[-1]) == "5 questions of notes wait for an answer already."


@pytest.mark.shows("D6")
def test_one_call_that_is_answered_each_time_is_stopped_all_the_same() -> None:
    here, shown = RateLimits(), 0
    for second in range(3000):
        question = ask("call")
        if here.admit(question, now=second * 10.0) == Admitted():
            shown += 1
            here.settle(question, "accept", now=second * 10.0)
    assert shown == LimitSettings().per_call == 10
    assert reason(here.admit(ask("call"), 1e6)) == "notes has asked 10 questions in this call already."
    assert here.admit(ask("another call"), 1e6) == Admitted()


@pytest.mark.shows("D6")
@pytest.mark.parametrize(("name", "window"), [("minute", MINUTE), ("hour", HOUR)])
def test_a_server_may_ask_so_often_within_a_minute_and_an_hour(name: str, window: float) -> None:
    here = limits(**{"per_minute": 1000, "per_hour": 1000, f"per_{name}": 3})
    for _ in range(3):
        question = ask()
        assert here.admit(question, 0.0) == Admitted()
        here.settle(question, "cancel", 0.0)
    article = "a minute" if name == "minute" else "an hour"
    assert reason(here.admit(ask(), window - 1)) == f"notes has asked 3 questions within {article}."
    assert here.admit(ask(), window) == Admitted()


@pytest.mark.shows("D6")
def test_after_a_decline_a_server_is_quiet_and_longer_after_each_further_one() -> None:
    here, now = limits(quiet_after_decline=5, per_hour=1000, per_minute=1000), 0.0
    for quiet in (5.0, 10.0, 20.0):
        question = ask()
        assert here.admit(question, now) == Admitted()
        here.settle(question, "decline", now)
        assert "it may ask again in 1 second" in reason(here.admit(ask(), now + quiet - 1))
        now += quiet
    accepted = ask()
    assert here.admit(accepted, now) == Admitted()
    here.settle(accepted, "accept", now)
    here.admit(last := ask(), now)
    here.settle(last, "decline", now)
    assert here.admit(ask(), now + 5) == Admitted()


def test_quiet_never_lasts_longer_than_an_hour_and_an_hour_of_peace_is_a_new_start() -> None:
    tally, bounds = AskTally(), LimitSettings(quiet_after_decline=3600)
    for _ in range(40):
        question = ask()
        tally, said = admit(tally, question, bounds, tally.quiet_until)
        assert said == Admitted()
        asked_at = tally.quiet_until
        tally = settle(tally, question.id, "decline", bounds, asked_at)
        assert tally.quiet_until - asked_at == HOUR
    tally, _ = admit(tally, question := ask(), bounds, tally.quiet_until + HOUR)
    assert settle(tally, question.id, "decline", bounds, tally.quiet_until + HOUR).declines == 1


def test_only_a_decline_brings_quiet() -> None:
    endings: list[Action | None] = ["accept", "cancel", None]
    for ending in endings:
        here = RateLimits()
        here.admit(question := ask(), 0.0)
        here.settle(question, ending, 0.0)
        assert here.admit(ask(), 0.0) == Admitted()


@pytest.mark.shows("D6")
def test_the_same_question_twice_at_once_in_one_call_is_one_question() -> None:
    here = RateLimits()
    first = ask("call", same="q")
    assert here.admit(first, 0.0) == Admitted()
    assert here.admit(ask("call", same="q"), 0.0) == JoinsWaiting(first.id)
    here.settle(first, "accept", 1.0)
    assert here.admit(ask("call", same="q"), 1.0) == Admitted()


def test_folded_questions_count_for_their_call_so_that_copies_do_not_go_on_for_ever() -> None:
    here = RateLimits()
    said = [here.admit(ask("call", same="q"), 0.0) for _ in range(3000)]
    assert (said.count(Admitted()), sum(isinstance(each, JoinsWaiting) for each in said)) == (1, 9)
    assert here.counts("notes", "ada", "call", 0.0).last_hour == 1


@pytest.mark.shows("X4")
def test_two_calls_that_ask_the_same_stay_two_and_so_do_calls_that_nobody_can_name() -> None:
    here = RateLimits()
    for call in ("one", "two", None, None):
        assert here.admit(ask(call, same="q"), 0.0) == Admitted()


def test_the_same_words_fields_or_link_make_the_same_question() -> None:
    assert sameness_of(form(Text("a"))) == sameness_of(form(Text("a")))
    assert sameness_of(UrlQuestion("m", "https://a.example", "1")) == sameness_of(
        UrlQuestion("m", "https://a.example", "2")
    )
    different: list[Question] = [
        form(),
        form(message="Other"),
        form(Text("b")),
        link("https://a.example"),
        link("https://b.example"),
    ]
    assert len(set(map(sameness_of, different))) == len(different)


def test_servers_and_persons_are_counted_apart() -> None:
    here = limits(per_minute=1)
    assert here.admit(ask(), 0.0) == Admitted()
    assert here.admit(ask(server="shop"), 0.0) == Admitted()
    assert here.admit(ask(person="bob"), 0.0) == Admitted()
    assert "within a minute" in reason(here.admit(ask(call="x"), 0.0))


def test_one_server_can_have_limits_of_its_own() -> None:
    here = RateLimits(
        Settings(servers={"wizard": ServerSettings(limits=LimitSettings(per_round=30, per_minute=30))})
    )
    said = [here.admit(ask(server="wizard"), 0.0) for _ in range(31)]
    assert said.count(Admitted()) == 30
    by_target = [
        here.admit(CountedQuestion(str(n), "w", "ada", str(n), target="wizard"), 0.0) for n in range(31)
    ]
    assert by_target.count(Admitted()) == 30


def test_a_question_whose_time_is_up_waits_no_longer_even_if_nobody_said_so() -> None:
    here = limits(per_round=1)
    assert here.admit(CountedQuestion("a", "notes", "ada", "a", lasts=30), 0.0) == Admitted()
    assert "wait for an answer" in reason(here.admit(ask(), 29.0))
    assert here.admit(ask(), 30.0) == Admitted()


def test_a_clock_that_is_set_back_locks_nobody_out() -> None:
    here = limits(per_minute=1)
    here.admit(ask(call="a"), now=1_000_000.0)
    assert isinstance(here.admit(ask(call="b"), now=0.0), OverLimit)
    assert here.admit(ask(call="b"), now=MINUTE) == Admitted()


Event = tuple[str, int, float]
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "ask", "accept", "decline", "cancel", "withdraw"]),
        st.integers(0, 3),
        st.floats(0, 90, allow_nan=False),
    ),
    max_size=120,
)
BOUNDS = LimitSettings(per_call=6, per_round=2, per_minute=3, per_hour=8, quiet_after_decline=7)


@pytest.mark.shows("D6")
@given(EVENTS)
def test_whatever_happens_the_promises_are_kept(events: list[Event]) -> None:
    here, now = RateLimits(Settings(limits=BOUNDS)), 0.0
    shown: list[tuple[float, str | None]] = []
    waiting: list[CountedQuestion] = []
    quiet_until = 0.0
    for what, which, passed in events:
        now += passed
        if what == "ask":
            question = ask(call=None if which == 3 else f"call {which}", same=str(which))
            if here.admit(question, now) == Admitted():
                assert now >= quiet_until - 1e-6
                shown.append((now, question.call))
                waiting.append(question)
        elif waiting:
            question = waiting.pop(which % len(waiting))
            here.settle(question, None if what == "withdraw" else what, now)  # type: ignore[arg-type]
            if what == "decline":
                quiet_until = now + BOUNDS.quiet_after_decline
        assert (
            max((sum(each.call == one.call for each in waiting) for one in waiting), default=0)
            <= BOUNDS.per_round
        )
    for start, _ in shown:
        assert sum(start <= at < start + MINUTE - 1e-6 for at, _ in shown) <= BOUNDS.per_minute
        assert sum(start <= at < start + HOUR - 1e-6 for at, _ in shown) <= BOUNDS.per_hour
    for call in {call for _, call in shown} - {None}:
        assert sum(each == call for _, each in shown) <= BOUNDS.per_call


def _weight(value: object) -> int:
    """A rough size of nested tuples."""
    inner = sum(map(_weight, value)) if isinstance(value, tuple) else 0
    return sys.getsizeof(value) + inner


def test_memory_stays_flat_whatever_a_server_does() -> None:
    chance, tally, bounds = random.Random(7), AskTally(), LimitSettings(per_minute=1000, per_hour=100)
    weights = []
    for step in range(2400):
        question = ask(call=f"call {step}")
        tally, _ = admit(tally, question, bounds, step * 20.0)
        if chance.random() < 0.5:
            tally = settle(tally, question.id, "accept", bounds, step * 20.0)
        if step % 600 == 599:
            weights.append(_weight(tally.asked) + _weight(tally.calls) + len(tally.waiting))
    assert max(weights[1:]) <= weights[0] * 1.5
    assert (len(tally.asked) <= 100, len(tally.calls) <= 256, len(tally.waiting) <= 256) == (True, True, True)


def test_idle_servers_are_forgotten_before_anyone_who_waits_and_too_many_are_refused() -> None:
    here = RateLimits()
    asks = [ask(server=f"server {number}") for number in range(1024)]
    for each in asks:
        here.admit(each, 0.0)
    assert reason(here.admit(ask(server="one more"), 0.0)) == "Too many servers ask at the same time."
    here.settle(asks[0], None, 0.0)
    assert here.admit(ask(server="one more"), 0.0) == Admitted()
    assert here.counts("server 5", "ada", None, 0.0).waiting == 1
