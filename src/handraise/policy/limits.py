"""How much one server may ask one person: pure arithmetic over tallies, with time passed in.

A burst of three thousand questions from one call becomes a handful and a refusal. The same question twice at
the same time, in the same call, is one question; two calls that ask the same stay two, because an answer to one
is no consent to the other.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from handraise.policy.rules import Counts
from handraise.policy.settings import LimitSettings, Settings
from handraise.questions import NO_HINTS, Action, FormQuestion, Question
from handraise.revisions import Revision
from handraise.wire import dump_question

MINUTE: Final = 60.0
HOUR: Final = 3600.0
_CALLS: Final = 256
_WAITING: Final = 256
_TALLIES: Final = 1024


@dataclass(frozen=True, slots=True)
class Admitted:
    """The question may be shown, when its turn comes."""


@dataclass(frozen=True, slots=True)
class JoinsWaiting:
    """The same question waits already. This one gets its answer too."""

    into: str


@dataclass(frozen=True, slots=True)
class OverLimit:
    """The question may not be shown, and why."""

    reason: str


LimitDecision: TypeAlias = Admitted | JoinsWaiting | OverLimit
"""The limits' verdict on a question."""


@dataclass(frozen=True, slots=True)
class CountedQuestion:
    """The facts about a question that the limits use."""

    id: str
    server: str
    person: str
    sameness: str
    """Equal for the same question; see `sameness_of`."""
    call: str | None = None
    """None when the host cannot tell which call asks."""
    lasts: float | None = None
    """Seconds after which it waits no longer, even if nobody says so."""
    target: str = ""
    """The server's, by which settings may name it too."""


@dataclass(frozen=True, slots=True)
class AskTally:
    """The questions that one server asked one person. Nothing in it grows without bound."""

    asked: tuple[float, ...] = ()
    """When, within the last hour."""
    calls: tuple[tuple[str, int], ...] = ()
    """How often the latest calls asked."""
    waiting: tuple[tuple[float, CountedQuestion], ...] = ()
    declines: int = 0
    """In a row."""
    quiet_until: float = 0.0


def sameness_of(question: Question) -> str:
    """A digest that the same words, fields and link share, and no others."""
    if isinstance(question, FormQuestion):
        told: object = dump_question(replace(question, hints=NO_HINTS), Revision.NOVEMBER_2025)
    else:
        told = [question.message, question.url]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def count(tally: AskTally, call: str | None, now: float) -> Counts:
    """The counts that decide about one more question of this call."""
    return Counts(
        in_call=0 if call is None else dict(tally.calls).get(call, 0),
        waiting=sum(ask.call == call and _waits(at, ask, now) for at, ask in tally.waiting),
        last_minute=sum(now - at < MINUTE for at in tally.asked),
        last_hour=sum(now - at < HOUR for at in tally.asked),
        quiet_left=max(0.0, tally.quiet_until - now),
    )


def admit(
    tally: AskTally, ask: CountedQuestion, bounds: LimitSettings, now: float
) -> tuple[AskTally, LimitDecision]:
    """May this be asked now? The tally afterwards, and the answer."""
    tally = replace(tally, waiting=tuple(each for each in tally.waiting if _waits(*each, now)))
    counts = count(tally, ask.call, now)
    if ask.call is not None and counts.in_call >= bounds.per_call:
        return tally, OverLimit(f"{ask.server} has asked {_questions(counts.in_call)} in this call already.")
    if ask.call is not None and (first := _waiting_like(tally, ask)) is not None:
        return replace(tally, calls=_counted(tally.calls, ask.call)), JoinsWaiting(first)
    if reason := _objection(counts, bounds, ask.server) or _crowd(tally, ask.server):
        return tally, OverLimit(reason)
    asked = (*(at for at in tally.asked if now - at < HOUR), now)
    calls = _counted(tally.calls, ask.call)
    return replace(tally, asked=asked, calls=calls, waiting=(*tally.waiting, (now, ask))), Admitted()


def settle(
    tally: AskTally, question_id: str, action: Action | None, bounds: LimitSettings, now: float
) -> AskTally:
    """A question came to its end: an answer, or None when it was withdrawn or nobody answered."""
    waiting = tuple(each for each in tally.waiting if each[1].id != question_id)
    if len(waiting) == len(tally.waiting):
        return tally
    tally = replace(tally, waiting=waiting)
    if action == "accept":
        return replace(tally, declines=0)
    if action == "decline" and bounds.quiet_after_decline:
        declines = tally.declines + 1 if now - tally.quiet_until < HOUR else 1
        quiet = min(HOUR, bounds.quiet_after_decline * 2.0 ** min(declines - 1, 32))
        return replace(tally, declines=declines, quiet_until=max(tally.quiet_until, now + quiet))
    return tally


def _objection(counts: Counts, bounds: LimitSettings, server: str) -> str | None:
    if counts.quiet_left > 0:
        return f"You declined a question of {server}; it may ask again in {_seconds(counts.quiet_left)}."
    if counts.waiting >= bounds.per_round:
        return f"{_questions(counts.waiting)} of {server} wait for an answer already."
    if counts.last_minute >= bounds.per_minute:
        return f"{server} has asked {_questions(counts.last_minute)} within a minute."
    if counts.last_hour >= bounds.per_hour:
        return f"{server} has asked {_questions(counts.last_hour)} within an hour."
    return None


def _crowd(tally: AskTally, server: str) -> str | None:
    full = len(tally.waiting) >= _WAITING
    return f"{_questions(len(tally.waiting))} of {server} wait for an answer already." if full else None


def _waits(since: float, ask: CountedQuestion, now: float) -> bool:
    return ask.lasts is None or now - since < ask.lasts


def _waiting_like(tally: AskTally, ask: CountedQuestion) -> str | None:
    alike = (ask.call, ask.sameness)
    return next((each.id for _, each in tally.waiting if (each.call, each.sameness) == alike), None)


def _counted(calls: tuple[tuple[str, int], ...], call: str | None) -> tuple[tuple[str, int], ...]:
    if call is None:
        return calls
    asked = dict(calls)
    number = asked.pop(call, 0) + 1
    return (*list(asked.items())[-(_CALLS - 1) :], (call, number))


def _questions(number: int) -> str:
    return "1 question" if number == 1 else f"{number} questions"


def _seconds(left: float) -> str:
    whole = max(1, round(left))
    return "1 second" if whole == 1 else f"{whole} seconds"


class RateLimits:
    """The tallies of all servers and persons, and the clock they share."""

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self._tallies: OrderedDict[tuple[str, str], AskTally] = OrderedDict()
        self._clock = 0.0
        self._heard: float | None = None

    def admit(self, ask: CountedQuestion, now: float) -> LimitDecision:
        """May this be asked now? Once admitted it counts, and waits until it is settled."""
        key, at = (ask.server, ask.person), self._elapsed(now)
        if key not in self._tallies and not self._make_room():
            return OverLimit("Too many servers ask at the same time.")
        bounds = self._settings.limits_for(ask.server, ask.target)
        tally, admission = admit(self._tallies.get(key, AskTally()), ask, bounds, at)
        self._tallies[key] = tally
        self._tallies.move_to_end(key)
        return admission

    def settle(self, ask: CountedQuestion, action: Action | None, now: float) -> None:
        """An admitted question came to its end; None: withdrawn, or nobody answered."""
        key, at = (ask.server, ask.person), self._elapsed(now)
        if (tally := self._tallies.get(key)) is not None:
            bounds = self._settings.limits_for(ask.server, ask.target)
            self._tallies[key] = settle(tally, ask.id, action, bounds, at)

    def counts(self, server: str, person: str, call: str | None, now: float) -> Counts:
        """How much a server has asked a person so far."""
        return count(self._tallies.get((server, person), AskTally()), call, self._elapsed(now))

    def _elapsed(self, now: float) -> float:
        """A time that never goes back, so that a clock change cannot extend a window for ever."""
        if self._heard is not None:
            self._clock += max(0.0, now - self._heard)
        self._heard = now
        return self._clock

    def _make_room(self) -> bool:
        """Forget the tally that was unused longest, but none with a waiting question."""
        if len(self._tallies) < _TALLIES:
            return True
        idle = next((key for key, tally in self._tallies.items() if not tally.waiting), None)
        if idle is not None:
            del self._tallies[idle]
        return idle is not None
