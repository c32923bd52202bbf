"""The scenarios, and the judgement on each: the person can answer and the model gets the result, or both are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.clients.session import Seen, Way
from tests.clients.stand_in import Step

IN_CLIENT = "answered in the client"
AT_DESK = "answered at the desk"
TOLD = "told why not"
FAILED = "FAILED"

TRUE_REASONS = (
    "their client cannot ",  # ask them, open a link for them, or show a choice of several options
    "did not answer in time",
    "The answers did not fit the form",  # the client sends what is no answer to it, and the same again
    "ended while the user was being asked",  # a client that starts its servers anew for each call
)
"""Sentences that say truly why nothing happened."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One thing that a person may be asked. The topic says what they do: see tests/clients/person.py."""

    name: str
    step: Step


SCENARIOS = (
    Scenario("confirmation", Step("ask_confirm", "accept")),
    Scenario("form", Step("ask_form", "accept")),
    Scenario("link", Step("ask_link", "accept")),
    Scenario("two questions", Step("ask_two", "accept")),
    Scenario("decline", Step("ask_confirm", "decline")),
    Scenario("cancel", Step("ask_confirm", "cancel")),
    Scenario("nobody answers", Step("ask_briefly", "nobody")),
    Scenario("park and resume", Step("ask_confirm", "late")),
)
"""The scenarios of one session, in their order."""
TIMER = Scenario("client's timeout", Step("ask_confirm", "timer", until="Happened with"))
"""Needs a session of its own, in which the client gives up before the gateway does."""


def scenarios_of(way: Way) -> Sequence[Scenario]:
    """The scenarios of a session; there is no desk at which a call could be parked without the gateway."""
    return SCENARIOS if way != "directly" else SCENARIOS[:-1]


def judge(step: Step, seen: Seen, *, dialog: bool) -> str:
    """What came of a step. `dialog`: somebody was at the client's own terminal."""
    told = seen.result(step)
    if told is None:
        return f"{FAILED}: the session ended before the call"
    by = AT_DESK if _decided_at_desk(step, seen) else IN_CLIENT
    happened = seen.effects.count(step.effect)
    if step.topic in ("decline", "cancel") and f"{step.effect}: {step.topic}." in told:
        right = happened == 0
    else:
        right = happened == 1 and f"Happened with {step.effect}." in told
    if right and (by == AT_DESK or dialog):
        return by
    if right:
        return f"{FAILED}: the client answered by itself, and the person saw nothing"
    if happened == 0 and any(reason in told for reason in TRUE_REASONS):
        return TOLD
    return f"{FAILED}: {happened} effects, and the model got {told[:300]!r}"


def _decided_at_desk(step: Step, seen: Seen) -> bool:
    """Whether the question of this very step was decided at the desk: several share the topic `accept`."""
    words = {"ask_form": "Order", "ask_link": "Connect", "ask_two": "Which", "ask_number": "How many"}
    begins = words.get(step.tool, "Delete")
    return any(message.startswith(begins) and f"“{step.topic}”" in message for message, _ in seen.decided)
