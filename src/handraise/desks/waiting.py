"""A question that waits at a desk, and what somebody decided about it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from handraise.policy.secrets import SecretFinding
from handraise.questions import Accepted, Action, Cancelled, Declined, Origin, Person, Question
from handraise.urls import Inspection

Content: TypeAlias = dict[str, Any]
"""What an accepted form sends. A link sends nothing: accepting it is consent to open it."""

DeskAnswer: TypeAlias = Accepted[Content | None] | Declined | Cancelled
"""What is decided at a desk: content for a form, None for a link."""

Decider = Literal["human", "policy", "agent", "timeout"]


@dataclass(frozen=True, slots=True)
class Cause:
    """Which call asks.

    `certain` is False when the host cannot tell: then `calls` are all that are under way.
    """

    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    """Tool (or prompt, or resource) and arguments, as the host sent them."""
    certain: bool = True
    method: str = "tools/call"
    call_id: str | None = None
    """A name of the host's for the call, the same for all its questions; None when it is not known which asks."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A question that waits for a person, with everything that a desk has to show of it."""

    id: str
    question: Question
    origin: Origin
    person: Person
    cause: Cause | None = None
    secrets: tuple[SecretFinding, ...] = ()
    """What its form asks for that a form should not."""
    link: Inspection | None = None
    """What is known about its link."""
    warnings: tuple[str, ...] = ()
    """Sentences of the policy's."""
    asked_at: float = 0.0
    deadline: float | None = None
    """Wall clock, both."""
    group: str | None = None
    """Questions that came together have the same."""
    browsing: bool = False
    """The link is open, and the person finishes in their browser: accepting says "done", and it can be cancelled."""
    asked_again: bool = False
    """The server asks for that same link once more, so that it can be declined too."""
    ours: bool = False
    """The words are the host's own, not the server's."""
    guard: bool = False
    """A guard of the user's own asks, in front of a call."""
    passkey: bool = False
    """It cannot be accepted without the person's passkey."""
    on_shown: Callable[[], None] | None = field(default=None, compare=False, repr=False)
    """Told when a desk displays it for the first time."""

    def warned(self, reasons: tuple[str, ...]) -> Waiting:
        """The same with sentences of the policy's, but for those that say what was found in its form anyway."""
        known = {finding.reason for finding in self.secrets}
        return replace(self, warnings=tuple(reason for reason in reasons if reason not in known))

    @property
    def can_be_declined(self) -> bool:
        """Whether there is something to say no to. Who is in the browser can only stop waiting."""
        return not self.browsing or self.asked_again


@dataclass(frozen=True, slots=True)
class PasskeyProof:
    """A person used their passkey for exactly these answers. Only `desks.passkeys.Passkeys` makes one.

    It never crosses a process: an answer that comes from elsewhere has none.
    """

    person: str
    """The person's key."""
    name: str
    """Which of their passkeys."""
    answers: tuple[tuple[str, str], ...]
    """The id of each question, with the digest of its answer."""

    def covers(self, waiting: Waiting, content: Content | None) -> bool:
        """Whether it is for this question of this person, and for this very answer."""
        wanted = (waiting.id, answer_digest(content))
        return self.person == waiting.person.key and wanted in self.answers


def answer_digest(content: Content | None) -> str:
    """What a passkey is bound to: the content of an accepted answer, None for a link."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about a question, by whom and where."""

    answer: DeskAnswer
    by: Decider = "human"
    desk: str = ""
    reason: str = ""
    block: Literal["session", "always"] | None = None
    """The person's own rule against the server, made with the same button."""
    edited: tuple[str, ...] = field(default=())
    """The fields in which the person changed the server's suggestion."""
    passkey: PasskeyProof | None = None
    """The person showed with it that they were there."""
    at: float = field(default=0.0, compare=False)
    """When, by the wall clock; the queue writes it down."""


def lacks_passkey(waiting: Waiting, decision: Decision) -> bool:
    """Whether a decision accepts what needs a passkey, without one that is for this very answer."""
    if not waiting.passkey or not isinstance(decision.answer, Accepted):
        return False
    return decision.passkey is None or not decision.passkey.covers(waiting, decision.answer.data)


def desk_answer(action: Action, content: Content | None = None) -> DeskAnswer:
    """The answer of this action; content goes with an accepted form. KeyError when there is no such action."""
    answers: dict[Action, DeskAnswer] = {
        "accept": Accepted(content),
        "decline": Declined(),
        "cancel": Cancelled(),
    }
    return answers[action]
