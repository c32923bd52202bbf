"""A question that waits at a desk, what somebody decided about it, and which questions are shown together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from handraise.questions import Accepted, Action, Cancelled, Declined, FormQuestion, Origin, Person, Question
from handraise.revisions import Revision
from handraise.secrets import SecretFinding
from handraise.urls import Inspection
from handraise.wire import RefusalCode, dump_question

Content: TypeAlias = dict[str, Any]
"""The content of an accepted form. A link has none: accepting it is consent to open it."""

DeskAnswer: TypeAlias = Accepted[Content | None] | Declined | Cancelled
"""What is decided at a desk: content for a form, None for a link."""

Decider = Literal["human", "policy", "agent", "timeout", "client"]


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
        known = {finding.reason for finding in self.secrets if not finding.doubtful}
        return replace(self, warnings=tuple(reason for reason in reasons if reason not in known))

    @property
    def doubts(self) -> tuple[SecretFinding, ...]:
        """Secrets that the form may ask for and the policy warns of. The answer needs a second look."""
        return tuple(each for each in self.secrets if each.doubtful and each.reason in self.warnings)

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
    """The content that a passkey's proof is bound to; None for a link."""
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
    refusal: RefusalCode | None = None
    """Why nobody was asked, or why the answer was kept back: what our own server is told."""
    said_no: bool = False
    """The person answered a confirmation with no. On the wire it is an accept with `false`; the queue notes it."""
    unattended: bool = field(default=False, compare=False)
    """The client did not wait for the answer any more, so that the model has to be told; the queue notes it."""
    at: float = field(default=0.0, compare=False)
    """When, by the wall clock; the queue writes it down."""


def noting_no(waiting: Waiting, decision: Decision) -> Decision:
    """The decision, with `said_no` as the answer to this very question has it."""
    question, answer = waiting.question, decision.answer
    confirms = question.confirms if isinstance(question, FormQuestion) else None
    said_no = (
        confirms is not None and isinstance(answer, Accepted) and (answer.data or {}).get(confirms) is False
    )
    return decision if decision.said_no == said_no else replace(decision, said_no=said_no)


def lacks_passkey(waiting: Waiting, decision: Decision) -> bool:
    """Whether a decision accepts what needs a passkey, without one that is for this very answer."""
    if (
        not waiting.passkey
        or not isinstance(decision.answer, Accepted)
        or noting_no(waiting, decision).said_no
    ):
        return False  # a no allows nothing
    return decision.passkey is None or not decision.passkey.covers(waiting, decision.answer.data)


def desk_answer(action: Action, content: Content | None = None) -> DeskAnswer:
    """The answer of this action; content goes with an accepted form. KeyError when there is no such action."""
    answers: dict[Action, DeskAnswer] = {
        "accept": Accepted(content),
        "decline": Declined(),
        "cancel": Cancelled(),
    }
    return answers[action]


Key: TypeAlias = tuple[object, ...]


def batch_key(waiting: Waiting) -> Key:
    """A key that questions of one batch share: the call, the server and the person. Other questions have their own."""
    cause = waiting.cause
    call = None if cause is None or not cause.certain else cause.call_id
    together = waiting.group or call
    if together is None or waiting.browsing:
        return (waiting.id,)
    return (together, waiting.origin, waiting.person)


def batch_of(of: Waiting, waiting: Iterable[Waiting]) -> tuple[Waiting, ...]:
    """The questions that belong to the same batch, in their order."""
    key = batch_key(of)
    return tuple(other for other in waiting if batch_key(other) == key)


def batches(waiting: Iterable[Waiting]) -> list[tuple[Waiting, ...]]:
    """All batches, each where its oldest question stands; most have one question."""
    order: dict[Key, list[Waiting]] = {}
    for one in waiting:
        order.setdefault(batch_key(one), []).append(one)
    return [tuple(batch) for batch in order.values()]


def describe(waiting: Waiting) -> dict[str, Any]:
    """Who asks, because of what, and the question as on the wire. Nothing in it suffices to answer."""
    form = isinstance(waiting.question, FormQuestion)
    origin = waiting.origin
    return {
        "version": 1,
        "id": waiting.id,
        "server": {"name": origin.name, "target": origin.target, "calls_itself": origin.claimed_name},
        "cause": _describe_cause(waiting.cause),
        "question": dump_question(waiting.question, Revision.NOVEMBER_2025 if form else Revision.JULY_2026),
        "words_of": "host" if waiting.ours else "server",
        "warnings": list(waiting.warnings),
        "deadline": waiting.deadline,
        "passkey": waiting.passkey,
    }


def _describe_cause(cause: Cause | None) -> dict[str, Any] | None:
    if cause is None:
        return None
    calls = [{"name": name, "arguments": dict(arguments)} for name, arguments in cause.calls]
    return {"calls": calls, "certain": cause.certain}
