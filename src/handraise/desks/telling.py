"""How a question ended, and how much time one has, in words for a person at any desk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from handraise.desks.waiting import Decision
from handraise.questions import Action

Mark = Literal["accept", "decline", "cancel", "expired", "withdrawn", "rule"]

_PLACES = {
    "web": "in the browser",
    "terminal": "at the terminal",
    "command": "with handraise answer",
    "script": "by a script",
}
VERBS: dict[Action, str] = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}
"""What became of a question, by its action."""
_RULES = {
    None: "",
    "session": " The server is blocked for this session.",
    "always": " The server is blocked.",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """A heading, a sentence or two, and a word for the mark beside it."""

    heading: str
    sentence: str
    mark: Mark


def tell(decision: Decision, now: float | None = None, *, browsing: bool = False) -> Ending:
    """How a question ended: by whom, where and what; with `now`, also when. `browsing`: it waited for a browser."""
    when = "" if now is None else f" {ago(now - decision.at)}"
    action = decision.answer.action
    match decision.by:
        case "timeout":
            ended = f" It ended{when}." if when else ""
            return Ending("Expired", f"Nobody answered in time. Nothing was sent.{ended}", "expired")
        case "policy":
            why = f": {decision.reason.removesuffix('.')}" if decision.reason else ""
            return Ending("Decided by a rule", f"One of your rules {VERBS[action]} it{when}{why}.", "rule")
        case "agent" if not decision.desk and browsing:
            return Ending("Went on", f"The call went on{when}. There is nothing left to say.", "withdrawn")
        case "agent" if not decision.desk:
            return Ending(
                "Withdrawn", f"The asker went away{when}. There is nothing left to answer.", "withdrawn"
            )
        case "agent" | "human":
            where = _PLACES.get(decision.desk, "at another desk")
            where += " with a passkey" if decision.passkey is not None else ""
            more = f" {decision.reason}" if decision.by == "human" and decision.reason else ""
            sentence = f"It was answered {where}{when}: {VERBS[action]}.{_RULES[decision.block]}{more}"
            return Ending(VERBS[action].capitalize(), sentence, action)


def ago(seconds: float) -> str:
    """How long ago, roughly."""
    return "just now" if seconds < 2 else f"{_roughly(seconds)} ago"


def left(seconds: float) -> str:
    """How much time is left, roughly and never too much."""
    return "less than a minute" if seconds < 60 else f"about {_roughly(seconds)}"


def short_left(seconds: float) -> str:
    """The same for a place with little room."""
    if seconds < 60:
        return f"{max(0, int(seconds))} s left"
    size, unit = next(each for each in ((86400, "days"), (3600, "h"), (60, "min")) if seconds >= each[0])
    return f"{int(seconds // size)} {unit} left"


def _roughly(seconds: float) -> str:
    sizes = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
    size, unit = next(each for each in sizes if seconds >= each[0])
    number = int(seconds // size)
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
