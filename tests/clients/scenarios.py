"""The scenarios, and the judgement on each: the person can answer and the model gets the result, or both are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.clients.person import TOPIC
from tests.clients.session import Seen, Way
from tests.clients.stand_in import Step

IN_CLIENT = "answered in the client"
AT_DESK = "answered at the desk"
TOLD = "told why not"
FAILED = "FAILED"

TRUE_REASONS = (
    "cannot be asked",  # NotSupported, for forms and for links
    "did not answer in time",
    "ended while the user was being asked",  # a client that starts its servers anew for each call
)
"""Sentences that say truly why nothing happened."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One thing that a person may be asked, and what they do."""

    name: str
    tool: str
    topic: str

    def step(self) -> Step:
        """The model's part."""
        until = "Happened with" if self.topic == "timer" else ""
        return Step(self.tool, {"topic": self.topic}, until)

    @property
    def effect(self) -> str:
        """The line that the server writes down when it was answered."""
        return f"{self.tool.removeprefix('ask_')} {self.topic}"


SCENARIOS = (
    Scenario("confirmation", "ask_confirm", "accept"),
    Scenario("form", "ask_form", "accept"),
    Scenario("link", "ask_link", "accept"),
    Scenario("two questions", "ask_two", "accept"),
    Scenario("decline", "ask_confirm", "decline"),
    Scenario("cancel", "ask_confirm", "cancel"),
    Scenario("nobody answers", "ask_briefly", "nobody"),
    Scenario("park and resume", "ask_confirm", "late"),
)
"""The scenarios of one session, in their order."""
TIMER = Scenario("client's timeout", "ask_confirm", "timer")
"""Needs a session of its own, in which the client gives up before the gateway does."""


def scenarios_of(way: Way) -> Sequence[Scenario]:
    """The scenarios of a session; there is no desk at which a call could be parked without the gateway."""
    return SCENARIOS if way != "directly" else SCENARIOS[:-1]


def judge(scenario: Scenario, step: Step, seen: Seen, *, dialog: bool) -> str:
    """The outcome of a scenario. `dialog`: somebody was at the client's own terminal."""
    told = seen.result(step)
    if told is None:
        return f"{FAILED}: the session ended before the call"
    topics = {(TOPIC.findall(message)[:1] or [""])[0] for message, _ in seen.decided}
    by = AT_DESK if scenario.topic in topics and _asked(scenario, seen) else IN_CLIENT
    happened = seen.effects.count(scenario.effect)
    if scenario.topic in ("decline", "cancel") and f"{scenario.effect}: {scenario.topic}." in told:
        right = happened == 0
    else:
        right = happened == 1 and f"Happened with {scenario.effect}." in told
    if right and (by == AT_DESK or dialog):
        return by
    if right:
        return f"{FAILED}: the client answered by itself, and the person saw nothing"
    if happened == 0 and any(reason in told for reason in TRUE_REASONS):
        return TOLD
    return f"{FAILED}: {happened} effects, and the model got {told[:300]!r}"


def _asked(scenario: Scenario, seen: Seen) -> bool:
    """Whether the question of this very scenario was decided at the desk: several share the topic `accept`."""
    words = {"ask_confirm": "Delete", "ask_form": "Order", "ask_link": "Connect", "ask_two": "Which"}
    word = words.get(scenario.tool, "Delete")
    return any(message.startswith(word) and f"“{scenario.topic}”" in message for message, _ in seen.decided)
