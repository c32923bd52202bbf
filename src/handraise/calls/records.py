"""What a store keeps of a call: rounds, the journal, and flows that finish in a browser.

Named tuples, not frozen dataclasses: several are made for every question, at a quarter of the cost.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

Json: TypeAlias = Any
"""A JSON value: what `json.loads` gives."""


class CallBinding(NamedTuple):
    """What a round belongs to. A retry that differs in any of it is refused."""

    person: str
    method: str
    target: str
    arguments: str
    """The digest of the arguments."""
    server: str = ""
    """The name of the server, which is the same on all its nodes and after a restart: others may share its store."""


class JournalEntry(NamedTuple):
    """One step of the journal, in the order in which the body took it.

    `pin` is the digest of what was shown, so that an answer never serves another question.
    """

    kind: Literal["answer", "expired", "judged", "once"]
    key: str
    pin: str
    value: Json


class RoundRecord(NamedTuple):
    """Questions that went out together and wait for one retry."""

    token: str
    """The `requestState`: random, and worthless to anyone but the person it is bound to."""
    call_id: str
    number: int
    binding: CallBinding
    deadline: float
    """Wall clock, in seconds."""
    questions: dict[str, Json]
    """The `inputRequests` as they were sent, by key."""
    pins: dict[str, str]
    """The digest of each question as it was shown, by key."""
    journal: tuple[JournalEntry, ...] = ()
    handler: str | None = None
    """Where a replayable handler stands in the code; None when it must not run again."""
    seed: str = ""
    """What the ids of the call's questions are made from, so that they are the same when it is replayed."""


class UnfinishedRound(NamedTuple):
    """A round that did not go on yet: it waits for an answer, or whoever took the answer has not got to an end."""

    call_id: str
    handler: str | None
    deadline: float


class RoundOutcome(NamedTuple):
    """How a round went on: the next round or the end of the call."""

    kind: Literal["result", "error", "round"]
    value: Json
    """The wire result, or the JSON-RPC error object."""


EXPIRED = "expired"
"""Why a round is refused that nobody answered in time."""


class RoundUse(NamedTuple):
    """One retry that brings answers to a round."""

    binding: CallBinding
    answers: dict[str, Json]
    said: str
    """A digest of everything that the retry brought; the same retry has the same one."""
    now: float


class ConsumeResult(NamedTuple):
    """The store's reply to a retry.

    `first`: this retry consumes the round. `again`: the same answers came before; `outcome` is
    theirs, if it is there yet. `refused`: anything else, with the reason for the log.
    """

    verdict: Literal["first", "again", "refused"]
    reason: str = ""
    outcome: RoundOutcome | None = None
    since: float = 0.0
    """When the round was consumed, wall clock."""
    elsewhere: bool = False
    """Whether the body is parked at another node, which lives and goes on with it."""


class DeliveredAnswers(NamedTuple):
    """Answers that another node took to a round of this one, and since when they are this one's to go on with."""

    answers: dict[str, Json]
    since: float


class Flow(NamedTuple):
    """A URL question that somebody has to finish in a browser."""

    elicitation_id: str
    person: str
    deadline: float
    completed: bool = False
