"""How a question ended, in words for somebody who comes to it late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from handraise.desks.waiting import Decision
from handraise.questions import Action

DESK = "web"
"""What this desk is called in decisions."""

Mark = Literal["accept", "decline", "cancel", "expired", "withdrawn", "rule"]

_PLACES = {DESK: "in the browser", "terminal": "at the terminal"}
_VERBS: dict[Action, str] = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}


@dataclass(frozen=True, slots=True)
class Ending:
    """A heading, a sentence, and a word for the mark beside it."""

    heading: str
    sentence: str
    mark: Mark


def tell(decision: Decision, now: float) -> Ending:
    """How a question ended, by whom, where and when."""
    when = ago(now - decision.at)
    action = decision.answer.action
    match decision.by:
        case "timeout":
            return Ending(
                "Expired", f"Nobody answered in time. It ended {when}; nothing was sent.", "expired"
            )
        case "agent":
            return Ending(
                "Withdrawn", f"The asker went away {when}. There is nothing left to answer.", "withdrawn"
            )
        case "policy":
            why = f": {decision.reason}" if decision.reason else ""
            return Ending("Decided by a rule", f"One of your rules {_VERBS[action]} it {when}{why}.", "rule")
        case "human":
            where = _PLACES.get(decision.desk, "at another desk")
            rule = {
                None: "",
                "session": " The server is blocked for this session.",
                "always": " The server is blocked.",
            }
            return Ending(
                _VERBS[action].capitalize(),
                f"Answered {where} {when}: {_VERBS[action]}.{rule[decision.block]}",
                action,
            )


def ago(seconds: float) -> str:
    """How long ago, roughly."""
    if seconds < 2:
        return "just now"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            return f"{_count(int(seconds // size), unit)} ago"
    return "just now"


def left(seconds: float) -> str:
    """How much time is left, roughly and never too much."""
    if seconds < 60:
        return "less than a minute"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"about {_count(int(seconds // size), unit)}"
    return "less than a minute"


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
