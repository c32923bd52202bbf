"""What became of each question: its events, read together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, get_args

from handraise.ledger.events import ENDINGS, About, Ended, Event, Kind, Link

Outcome = Literal["accepted", "declined", "cancelled", "expired", "refused", "unanswered", "waiting"]
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
"""How a question can have ended, in the order in which a report names them."""

_BY_ACTION: Final[dict[str, Outcome]] = {
    "accept": "accepted",
    "decline": "declined",
    "cancel": "cancelled",
}
_BY_KIND: Final[dict[Kind, Outcome]] = {
    "refused": "refused",
    "expired": "expired",
    "withdrawn": "unanswered",
    "failed": "unanswered",
    "ambiguous": "unanswered",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One question, from being asked to what its answer was used for."""

    question: str
    about: About
    asked: int
    """Milliseconds since 1970."""
    outcome: Outcome
    ending: Event | None
    shown: bool
    secrets: tuple[str, ...]
    link: Link | None
    use: Ended | Literal["ambiguous"] | None
    """How the call ended that used the answer; ambiguous: nobody knows."""

    @property
    def count(self) -> int:
        """How many questions it stands for: more than one for refused ones that were only counted."""
        return 1 if self.ending is None or self.ending.count is None else self.ending.count

    @property
    def thought(self) -> int | None:
        """Milliseconds that a person took to decide; None when no person did."""
        if self.ending is None or self.ending.decided_by != "human":
            return None
        return self.ending.latency

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it was refused or not answered."""
        return () if self.ending is None else self.ending.reasons


def cases_of(events: Iterable[Event]) -> list[Case]:
    """The questions that events tell of, oldest first."""
    by_question: dict[str, list[Event]] = {}
    for event in events:
        by_question.setdefault(event.question, []).append(event)
    return sorted(map(_case, by_question.values()), key=lambda case: case.asked)


def _case(events: list[Event]) -> Case:
    first = min(events, key=lambda event: event.time)
    ending = next((event for event in events if event.kind in ENDINGS), None)
    named = [field.secret for event in events for field in event.fields] + [event.secret for event in events]
    return Case(
        question=first.question,
        about=first.about,
        asked=first.time,
        outcome=_outcome(ending),
        ending=ending,
        shown=any(event.kind == "shown" for event in events),
        secrets=tuple(dict.fromkeys(secret for secret in named if secret)),
        link=next((event.link for event in events if event.link is not None), None),
        use=_use(events, ending),
    )


def _use(events: list[Event], ending: Event | None) -> Ended | Literal["ambiguous"] | None:
    if uses := [event.used.ended for event in events if event.used is not None]:
        return uses[-1]
    lost = any(event.kind == "ambiguous" and event is not ending for event in events)
    return "ambiguous" if lost else None


def _outcome(ending: Event | None) -> Outcome:
    if ending is None:
        return "waiting"
    if ending.kind == "decided":
        return _BY_ACTION[ending.action or "cancel"]
    return _BY_KIND[ending.kind]
