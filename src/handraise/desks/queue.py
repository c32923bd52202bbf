"""The one queue behind all desks: questions wait in it, and the first answer wins."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from handraise.desks.fill import Entries
from handraise.desks.waiting import Decision, Waiting, lacks_passkey, noting_no
from handraise.questions import Accepted, Cancelled

ARMED_AFTER = 0.5
"""Seconds for which a question cannot be accepted after it was first shown: typing ahead is no consent."""

Verdict = Literal["taken", "too late", "too soon", "needs passkey"]


class Desk(Protocol):
    """A place where a person answers. Every desk serves a queue in the same way."""

    async def run(self) -> None:
        """Show what waits in the queue, until cancelled."""
        ...


@dataclass(slots=True)
class _Place:
    waiting: Waiting
    decided: asyncio.Future[Decision]
    shown_at: float | None = None
    draft: Entries = field(default_factory=dict)


class Queue:
    """The questions that wait for a person, oldest first."""

    elsewhere: ClassVar[bool] = False
    """Whether the questions are another process's, and go on waiting there when a desk is closed."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, web_desk: str = "handraise inbox"
    ) -> None:
        """`web_desk` is the command that opens the web desk of these questions."""
        self.web_desk = web_desk
        self.unattended: set[str] = set()
        """The calls, as `Cause.call_id` names them, whose clients do not wait for an answer any more."""
        self._places: dict[str, _Place] = {}
        self._past: dict[str, tuple[Waiting, Decision]] = {}
        self._changed = asyncio.Event()
        self._clock = clock

    async def put(self, waiting: Waiting) -> Decision:
        """Have a question answered. Cancelling this withdraws it from every desk at once."""
        place = _Place(waiting, asyncio.get_running_loop().create_future())
        self._places[waiting.id] = place
        self._wake()
        try:
            async with asyncio.timeout(self._left(waiting)):
                decision = await asyncio.shield(place.decided)  # cancelling the wait decides nothing
        except TimeoutError:
            self._leave(
                place,
                Decision(Cancelled(), by="timeout", reason="nobody answered in time", refusal="expired"),
            )
            decision = place.decided.result()  # an answer that was taken in the same moment stands
        except asyncio.CancelledError:
            self._leave(place, Decision(Cancelled(), by="agent", reason="the asker went away"))
            raise
        return decision

    async def join(self, question_id: str) -> Decision | None:
        """The decision about a question that waits already, for another one just like it; None when it is gone."""
        place = self._places.get(question_id)
        return None if place is None else await asyncio.shield(place.decided)

    def tell(self, waiting: Waiting, decision: Decision) -> None:
        """Have the desks tell of a question that was decided without waiting: a blocked server tried."""
        self._remember(waiting, replace(decision, at=time.time()))

    def note(self, call_id: str, sentence: str) -> None:
        """Have the desks say how answers because of a call ended after all, instead of who has to be told."""
        for waiting, decision in list(self._past.values()):
            if waiting.cause is not None and waiting.cause.call_id == call_id and decision.by == "human":
                self._remember(waiting, replace(decision, reason=sentence, unattended=False))

    def waiting(self) -> tuple[Waiting, ...]:
        """What waits now."""
        return tuple(place.waiting for place in self._places.values())

    def find(self, question_id: str) -> Waiting | None:
        """The question with this id, while it waits."""
        place = self._places.get(question_id)
        return None if place is None else place.waiting

    def outcome(self, question_id: str) -> tuple[Waiting, Decision] | None:
        """How a question that waited here ended, for a desk that comes too late."""
        return self._past.get(question_id)

    def past(self) -> tuple[tuple[Waiting, Decision], ...]:
        """How the last questions ended, newest first."""
        return tuple(reversed(self._past.values()))

    def show(self, question_id: str) -> None:
        """A desk shows the question now. From the first time on its disarmed moment runs."""
        place = self._places.get(question_id)
        if place is not None and place.shown_at is None:
            place.shown_at = self._clock()
            if place.waiting.on_shown is not None:
                place.waiting.on_shown()

    def own_desk(self, question_id: str) -> Path | None:
        """A private file that leads a browser to this question at the desk of the process that asks.

        None: there is no other desk than those of this queue.
        """
        return None

    def draft(self, question_id: str) -> Entries:
        """What was typed so far, on whichever desk."""
        place = self._places.get(question_id)
        return {} if place is None else dict(place.draft)

    def keep_draft(self, question_id: str, entries: Entries) -> None:
        """Keep what was typed, so that an interruption or a reload loses nothing."""
        place = self._places.get(question_id)
        if place is not None:
            place.draft = dict(entries)

    def decide(self, question_id: str, decision: Decision) -> Verdict:
        """Decide a question, unless somebody did before, or accepts it before it can have been read.

        A question that needs a passkey is accepted with one only, whichever desk, script or hook decides.
        """
        place = self._places.get(question_id)
        if place is None:
            return "too late"
        if isinstance(decision.answer, Accepted) and decision.by == "human" and not self._armed(place):
            return "too soon"
        if lacks_passkey(place.waiting, decision):
            return "needs passkey"
        self._leave(place, decision)
        return "taken"

    async def changes(self) -> AsyncGenerator[tuple[Waiting, ...], None]:
        """What waits, now and whenever it changes."""
        while True:
            changed = self._changed
            yield self.waiting()
            await changed.wait()

    async def news(self) -> AsyncGenerator[tuple[tuple[Waiting, ...], tuple[str, ...]], None]:
        """The questions that came since the last time, and the ids of those that are gone."""
        known: set[str] = set()
        async for waiting in self.changes():
            here = {question.id for question in waiting}
            came = tuple(question for question in waiting if question.id not in known)
            gone = tuple(sorted(known - here))
            known = here
            yield came, gone

    def _armed(self, place: _Place) -> bool:
        return place.shown_at is not None and self._clock() - place.shown_at >= ARMED_AFTER

    def _left(self, waiting: Waiting) -> float | None:
        return None if waiting.deadline is None else max(0.0, waiting.deadline - time.time())

    def _leave(self, place: _Place, decision: Decision) -> None:
        """Settle a question, once: whoever comes first wins, and every desk sees it at once."""
        if place.decided.done():
            return
        cause = place.waiting.cause
        unattended = decision.unattended or (cause is not None and cause.call_id in self.unattended)
        decision = replace(noting_no(place.waiting, decision), at=time.time(), unattended=unattended)
        place.decided.set_result(decision)
        del self._places[place.waiting.id]
        self._remember(place.waiting, decision)

    def _remember(self, waiting: Waiting, decision: Decision) -> None:
        self._past[waiting.id] = (waiting, decision)
        while len(self._past) > _REMEMBERED:
            del self._past[next(iter(self._past))]
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


_REMEMBERED = 200
