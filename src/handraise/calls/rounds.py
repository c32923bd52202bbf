"""One round: questions that went out together, and the requests that wait for the next step of their call.

The journal remembers the answers of all rounds of a call, so that its handler can be replayed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Container, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import NamedTuple

from handraise.calls.store import (
    EXPIRED,
    CallBinding,
    ConsumeResult,
    JournalEntry,
    Json,
    RoundOutcome,
    RoundUse,
    StepKind,
)

TOKEN_PREFIX = "hr1."  # noqa: S105 - the start of every token, not a token
"""Our `requestState` values start with this. Any other state belongs to somebody else."""


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Limits of time and number for calls."""

    linger: float = 10.0
    """How long a handler may clean up after its client left. Once an answer was used it also gets this long to be
    picked up by a retry."""
    retry_window: float = 60.0
    """How long the outcome of a round is kept, so that the same retry gets it again."""
    grace: float = 2.0
    """How long handlers may clean up when the server shuts down."""
    lease: float = 30.0
    """How long a round that another process took is left to that process."""
    max_parked: int = 100_000
    """How many questions may wait at once."""
    forget_handlers: bool = False
    """End replayable handlers at each question instead of keeping them suspended."""


@dataclass(slots=True, eq=False)
class OpenQuestion:
    """An open question: the request as sent, and the future that its asker awaits."""

    request: Json
    future: asyncio.Future[Json]
    until: float
    """The deadline by the store's clock."""
    timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> bool:
        """Whether there is no answer yet."""
        return not self.future.done()

    def answer(self, answer: Json) -> None:
        """Give the asker the client's answer."""
        if not self.future.done():
            self.future.set_result(answer)

    def fail(self, error: Exception) -> None:
        """Raise an error at the asker."""
        if not self.future.done():
            self.future.set_exception(error)

    def close(self) -> None:
        """The asker no longer waits."""
        if self.timer is not None:
            self.timer.cancel()
        if not self.future.cancel() and not self.future.cancelled():
            self.future.exception()  # mark it as seen, or asyncio reports it as lost


@dataclass(slots=True, eq=False)
class Round:
    """A step that requests wait for: the call's first (no token), or the one after a retry."""

    number: int
    token: str = ""
    shown: Mapping[str, Json] = field(default_factory=dict)
    """The input requests of this round, by key."""
    taken: bool = False
    """Whether the handler has its answers."""
    taking: int = 0
    """How many retries are at the store with answers to this round."""
    attempts: frozenset[float] = frozenset()
    """Timestamps of consume attempts whose reply was lost. A round consumed at one of them was consumed by us."""
    waiters: int = 0
    """How many requests wait for the next step."""
    outcome: RoundOutcome | None = None
    error: BaseException | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def finish(self, outcome: RoundOutcome, error: BaseException | None = None) -> None:
        """Give the outcome to every waiting request."""
        self.outcome, self.error = outcome, error
        self.done.set()

    def result(self) -> Json:
        """The wire result of a finished round. Raises the handler's error."""
        assert self.outcome is not None
        if self.error is not None:
            raise self.error
        return self.outcome.value


_NOT_SHOWN = frozenset({"_meta", "elicitationId"})
_write = json.JSONEncoder(sort_keys=True, check_circular=False, separators=(",", ":")).encode


def canonical(value: object) -> bytes:
    """One byte string for one JSON value: sorted keys, no spaces, ASCII."""
    return _write(value).encode()


def digest(value: object) -> str:
    """A short digest of a JSON value, stable across processes."""
    return hashlib.blake2b(_write(value).encode(), digest_size=16).hexdigest()


def keyed_id(key: bytes, *parts: object) -> str:
    """An id that is the same for the same parts, and unpredictable without the key."""
    return "q_" + hashlib.blake2b(ascii(parts).encode(), key=key, digest_size=12).hexdigest()


def pin_of(request: Json) -> str:
    """The digest that pins an answer to what was shown.

    `_meta` and the id of a link do not count: people do not see them, and they differ in each run.
    """
    params = request.get("params")
    if isinstance(params, dict):
        shown = {name: value for name, value in params.items() if name not in _NOT_SHOWN}
        request = {**request, "params": shown}
    return digest(request)


class Journal:
    """The steps of one call.

    In a replay each answer is used once, and only for its own question. A question that differs ends the replay when it
    is sent: it and all later ones are asked. Before that, sibling tasks may ask in another order. `once` results are
    found by their key.
    """

    def __init__(self, entries: Iterable[JournalEntry] = (), shown: Container[str] = ()) -> None:
        self.entries: list[JournalEntry] = list(entries)
        self._shown = shown
        """The keys of the questions in the last answered round."""
        self._differs = False
        self.steps: dict[str, Json] = {e.key: e.value for e in self.entries if e.kind == "once"}
        """The results of the `once` steps that have run, by key."""
        self._replay: list[JournalEntry] = [e for e in self.entries if e.kind in ("answer", "expired")]
        self._verdicts: list[JournalEntry] = [e for e in self.entries if e.kind == "judged"]

    def recall(self, key: str, pin: str) -> JournalEntry | None:
        """How this question ended before; None when it must be asked."""
        for at, entry in enumerate(self._replay):
            if entry.key == key and entry.pin == pin:
                del self._replay[at]
                return entry._replace(value=deepcopy(entry.value))  # the handler may change it
        # An unanswered or badly answered question of the last round is asked again, as without a replay.
        left = any(entry.key == key for entry in self._replay)
        self._differs = self._differs or left or key not in self._shown
        return None

    def for_round(self) -> tuple[JournalEntry, ...]:
        """The steps to store with a round that is about to be sent."""
        if self._differs:
            self._forget_answers()
        return tuple(self.entries)

    def remembers(self, key: str, pin: str) -> bool:
        """Whether the journal has the answer to this question."""
        return any(entry.key == key and entry.pin == pin for entry in self._replay)

    def verdict(self, pin: str) -> JournalEntry | None:
        """The author's earlier verdict on an answer, if any. Asking again could give another verdict."""
        for at, entry in enumerate(self._verdicts):
            if entry.pin == pin:
                return self._verdicts.pop(at)
        return None

    def add(self, kind: StepKind, key: str, pin: str, value: Json) -> JournalEntry:
        """Add a step that was made just now."""
        if kind == "once":
            self.steps[key] = value
        own = deepcopy(value) if kind == "answer" else value  # the handler may change its answer
        entry = JournalEntry(kind, key, pin, own)
        self.entries.append(entry)
        return entry

    def _forget_answers(self) -> None:
        self._differs = False
        stale = set(map(id, (*self._replay, *self._verdicts)))
        self.entries = [e for e in self.entries if id(e) not in stale]
        self._replay.clear()
        self._verdicts.clear()


class RoundState(NamedTuple):
    """A round as a retry finds it."""

    binding: CallBinding
    deadline: float
    until: float | None
    """Until when a round is kept that is over."""
    said: str | None
    """The digest of the answers that consumed it."""
    since: float
    outcome: RoundOutcome | None


def judge_use(state: RoundState | None, use: RoundUse) -> ConsumeResult:
    """The reply to a retry; `first` is still to be written. None: there is no such round."""
    if state is None:
        return ConsumeResult("refused", "unknown token")
    if state.binding != use.binding:
        return ConsumeResult("refused", "bound to another person or call")
    if state.said is None:
        if state.outcome is not None:
            return ConsumeResult("again", outcome=state.outcome)
        if use.now >= state.deadline or state.until is not None:
            return ConsumeResult("refused", EXPIRED)
        return ConsumeResult("first", since=use.now)
    if state.said != use.said:
        return ConsumeResult("refused", "used already, with other answers")
    if state.outcome is None and state.until is not None:
        return ConsumeResult("refused", "the call is over, and how this round went on was not kept")
    return ConsumeResult("again", outcome=state.outcome, since=state.since)
