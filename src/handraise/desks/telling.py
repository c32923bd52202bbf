"""How a question ended, in words for somebody who sits at another desk."""

from __future__ import annotations

from handraise.desks.waiting import Decision
from handraise.questions import Action

_PLACES = {"web": "in the browser", "terminal": "at the terminal", "script": "by a script"}
_VERBS: dict[Action, str] = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}
_RULES = {
    None: "",
    "session": " The server is blocked for this session.",
    "always": " The server is blocked.",
}


def tell(decision: Decision) -> str:
    """One sentence or two: by whom, where, and what."""
    verb = _VERBS[decision.answer.action]
    match decision.by:
        case "timeout":
            return "Nobody answered in time. Nothing was sent."
        case "policy":
            return f"One of your rules {verb} it{f': {decision.reason}' if decision.reason else ''}."
        case "agent" if decision.desk:
            return f"It was answered {_place(decision)}: {verb}."
        case "agent":
            return "The asker went away. There is nothing left to answer."
        case "human":
            return f"It was answered {_place(decision)}: {verb}.{_RULES[decision.block]}"


def time_left(seconds: float) -> str:
    """How much time is left, roughly and never too much."""
    if seconds < 60:
        return f"{max(0, int(seconds))} s left"
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} left"
    return ""


def _place(decision: Decision) -> str:
    return _PLACES.get(decision.desk, "at another desk")
