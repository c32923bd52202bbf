"""What a rule may know about a question. Everything was found out before: rules look nothing up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from handraise.policy.secrets import SecretFinding
from handraise.questions import Origin, Question
from handraise.urls import Inspection


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a server has asked a person so far."""

    in_call: int = 0
    waiting: int = 0
    """Of the same call, still without an answer."""
    last_minute: int = 0
    last_hour: int = 0
    quiet_left: float = 0.0
    """Seconds for which the server has to be quiet, because the person declined."""


@dataclass(frozen=True, slots=True)
class Facts:
    """One question, who asks it, and what is known about both."""

    question: Question
    origin: Origin
    person: str = ""
    """The person's key."""
    secrets: tuple[SecretFinding, ...] = ()
    """What its form asks for that a form should not."""
    link: Inspection | None = None
    """What is known about its link."""
    tool: str | None = None
    """The call that asks, when the host can tell."""
    now: float = 0.0
    """Wall clock."""
    counts: Counts = Counts()
    guard: bool = False
    """Whether it is a question of the user's own guards, in front of a call."""
    shared: bool = False
    """Whether it waits at a desk that several people share."""

    @property
    def mode(self) -> Literal["form", "url"]:
        """Whether it is a form or a link."""
        return self.question.mode
