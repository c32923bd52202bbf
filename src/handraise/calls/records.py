"""The records of a store: rounds, the journal, and flows that finish in a browser.

Named tuples, not frozen dataclasses: several are made for every question, at a quarter of the cost.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

Json: TypeAlias = Any
"""A JSON value, as `json.loads` returns it."""


class CallBinding(NamedTuple):
    """The person, call and server of a round. A retry that differs in any of them is refused."""

    person: str
    method: str
    target: str
    arguments: str
    """The digest of the arguments."""
    server: str = ""
    """The server's name, because servers may share a store. The same on all nodes and after a restart."""


class JournalEntry(NamedTuple):
    """One step of the journal, in the order of the handler.

    `pin` is the digest of the shown question, so that an answer never counts for another one.
    """

    kind: Literal["answer", "expired", "judged", "once"]
    key: str
    pin: str
    value: Json


class RoundRecord(NamedTuple):
    """Questions that went out together and wait for one retry."""

    token: str
    """The `requestState`: random, and useless to anyone but its person."""
    call_id: str
    number: int
    binding: CallBinding
    deadline: float
    """Wall clock, in seconds."""
    questions: dict[str, Json]
    """The `inputRequests` as they were sent, by key."""
    pins: dict[str, str]
    """The digest of each shown question, by key."""
    journal: tuple[JournalEntry, ...] = ()
    handler: str | None = None
    """The name of a replayable handler; None when the handler must not run again."""
    seed: str = ""
    """The seed of the questions' ids, so that a replay gives the same ids."""


class UnfinishedRound(NamedTuple):
    """A round without an outcome: it waits for an answer, or its answer is being used."""

    call_id: str
    handler: str | None
    deadline: float


class RoundOutcome(NamedTuple):
    """The outcome of a round: the next round, or the end of the call."""

    kind: Literal["result", "error", "round"]
    value: Json
    """The wire result, or the JSON-RPC error object."""


EXPIRED = "expired"
"""The reason for refusing a round that nobody answered in time."""


class RoundUse(NamedTuple):
    """One retry that brings answers to a round."""

    binding: CallBinding
    answers: dict[str, Json]
    said: str
    """A digest of all answers in the retry. The same retry has the same digest."""
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
    """Whether the handler is parked at another live node, which continues it."""


class DeliveredAnswers(NamedTuple):
    """Answers that another node took to a round of this node, and since when this node owns the round."""

    answers: dict[str, Json]
    since: float


class Flow(NamedTuple):
    """A URL question that somebody has to finish in a browser."""

    elicitation_id: str
    person: str
    deadline: float
    completed: bool = False
