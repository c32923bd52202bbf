"""Record a host's questions in the ledger. An answer is on disk before it leaves.

The attack: a server fills the disk with thousands of refused questions. So only the first refusals of a server in a
minute have an event each. The others are counted, and one event a minute has the number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from handraise.desks import Cause, Decision, Waiting
from handraise.questions import Accepted, Origin, Person
from handraise.revisions import Revision

if TYPE_CHECKING:
    from handraise.calls.ledger_tables import Record
    from handraise.ledger import Ledger
    from handraise.ledger.events import CallEnd, ClientRecord, EventContext, RequestRecord
    from handraise.ledger.trail import Trail


ASKER_ENDED: Final = "the asker ended while it was asking"
"""Cancels a question whose asker is gone. It is unknown what the asker did before."""
MOST_REFUSALS: Final = 20
"""How many refusals of a server to a person have their own event in a period."""
PERIOD: Final = 60.0
_COUNTED: Final = "from here on more refusals of this server are counted, with one event a minute"
_MORE: Final = "{} more questions of this server were refused"
_REASONS: Final = 5
_UNASKED: Final = "the client answered a question that was not asked here"
_NOT_KNOWN: Final = "how the call ended that used the answer is not known"


class HostRecord:
    """The record of one question, which ends with its call, if that is known. Without a ledger it writes nothing."""

    def __init__(self, written: tuple[Trail, Refusals] | None = None) -> None:
        self._written = written
        self._showing: asyncio.Future[None] | None = None

    async def asked(self) -> None:
        """It goes to a desk."""
        await self._write(lambda trail: [trail.asked()])

    def shown(self) -> None:
        """A desk displays it."""
        self._showing = self._write_soon(lambda trail: [trail.shown()])

    async def refused(self, reasons: tuple[str, ...]) -> None:
        """The policy keeps it from the desks."""
        if self._written is not None:
            trail, refusals = self._written
            await refusals.record(trail.about, trail.refused, reasons)

    async def decided(self, decision: Decision) -> None:
        """It has been decided."""
        if self._showing is not None:
            await self._showing
        await self._write(partial(_decided, decision))

    async def passed_on(self, why: str) -> None:
        """Somebody else shows it; its answer does not pass through here."""
        await self._write(lambda trail: [trail.asked(), trail.withdrawn(why)])

    def withdrawn(self) -> None:
        """Its asker went away. Written in the background, because the call is over."""
        self._write_soon(lambda trail: [trail.withdrawn("the asker went away")])

    def ambiguous(self) -> None:
        """Its asker ended while it was asking. Written in the background."""
        self._write_soon(lambda trail: [trail.ambiguous(ASKER_ENDED)])

    async def unasked(self) -> None:
        """An answer came to a question that was not asked here."""
        await self._write(lambda trail: [trail.ambiguous(_UNASKED)])

    async def failed(self, reason: str) -> None:
        """It came to nothing."""
        await self._write(lambda trail: [trail.failed(reason)])

    async def completed(self) -> None:
        """Its link is finished."""
        await self._write(lambda trail: [trail.completed()])

    def used(self, ended: CallEnd | None) -> None:
        """The call that it was accepted in is over; None: unknown how. Written in the background."""
        self._write_soon(partial(_used, ended))

    async def _write(self, events: Callable[[Trail], list[Record]]) -> None:
        if self._written is not None:
            trail, refusals = self._written
            await refusals.ledger.record(*events(trail))

    def _write_soon(self, events: Callable[[Trail], list[Record]]) -> asyncio.Future[None] | None:
        if self._written is None:
            return None
        trail, refusals = self._written
        records = events(trail)
        return refusals.ledger.record_soon(*records) if records else None


def _decided(decision: Decision, trail: Trail) -> list[Record]:
    if decision.by == "timeout":
        return [trail.expired()]
    answer = decision.answer
    decided = trail.decided(
        answer.action,
        decision.by,
        content=answer.data if isinstance(answer, Accepted) else None,
        edited=decision.edited,
        reasons=(decision.reason,) if decision.reason else (),
        passkey=decision.passkey is not None,
        said_no=decision.said_no,
    )
    # A link that could not be opened is a cancel.
    went = isinstance(answer, Accepted) and trail.about.mode == "url"
    return [decided, trail.opened()] if went else [decided]


def _used(ended: CallEnd | None, trail: Trail) -> list[Record]:
    if (request := trail.about.request) is None:
        return []
    return [trail.ambiguous(_NOT_KNOWN) if ended is None else trail.used(request, ended)]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The context of a question."""

    origin: Origin
    person: Person
    revision: Revision | None
    client: ClientRecord | None = None
    policy: str | None = None
    gateway: str | None = None
    trace: str | None = None

    def about(
        self, request: RequestRecord | None = None, mode: Literal["form", "url"] | None = None
    ) -> EventContext:
        """The common part of the question's events."""
        from handraise.ledger.events import EventContext
        from handraise.ledger.trail import principal_of, server_of

        return EventContext(
            server_of(self.origin),
            principal_of(self.person),
            request=request,
            mode=mode,
            client=self.client,
            revision=None if self.revision is None else self.revision.value,
            gateway=self.gateway,
            policy=self.policy,
            trace=self.trace,
        )


class HostRecorder:
    """Records the questions of a host, if it has a ledger."""

    def __init__(self, ledger: Ledger | None) -> None:
        self._refusals = None if ledger is None else Refusals(ledger)
        self.refused_for = ""
        """The reason of the last refusal. It is logged once."""

    def begin(self, waiting: Waiting, around: Circumstances) -> HostRecord:
        """The record of a question."""
        if self._refusals is None:
            return HostRecord()
        from handraise.ledger.trail import shown_question

        ledger = self._refusals.ledger
        about = around.about(_request(ledger, waiting.cause), waiting.question.mode)
        known = around.revision or Revision.JULY_2026
        told = shown_question(waiting.question, known, secrets=waiting.secrets, link=waiting.link)
        until: Literal["decided", "used"] = "decided" if about.request is None else "used"
        return HostRecord((ledger.trail(f"q_{waiting.id}", about, told, until=until), self._refusals))

    async def unreadable(self, around: Circumstances, reason: str) -> None:
        """Record a question that could not be parsed, or that nobody here can be asked."""
        await self._unnamed(around).refused((reason,))

    async def unasked(self, around: Circumstances, *, passes: bool) -> None:
        """Record an answer to a question that was not asked here. It is unknown who gave it."""
        if passes:
            await self._unnamed(around).unasked()
        else:
            await self.unreadable(around, _UNASKED)

    def _unnamed(self, around: Circumstances) -> HostRecord:
        """The record of a question of which only the context is known."""
        if self._refusals is None:
            return HostRecord()
        ledger = self._refusals.ledger
        return HostRecord((ledger.trail(ledger.new_question(), around.about(), None), self._refusals))

    async def aclose(self) -> None:
        """Record pending counts of refusals."""
        if self._refusals is not None:
            await self._refusals.aclose()


@dataclass(slots=True)
class _Period:
    """The refusals of one server to one person within a period."""

    about: EventContext
    timer: asyncio.TimerHandle
    recorded: int = 0
    counted: int = 0
    reasons: dict[str, None] = field(default_factory=dict)


class Refusals:
    """Records the first refusals of a server each, and the others as a number."""

    def __init__(self, ledger: Ledger, *, most: int = MOST_REFUSALS, period: float = PERIOD) -> None:
        self.ledger = ledger
        self._most = most
        self._length = period
        self._periods: dict[object, _Period] = {}

    @property
    def is_counting(self) -> bool:
        """Whether a period is running."""
        return bool(self._periods)

    async def record(
        self, about: EventContext, refused: Callable[[tuple[str, ...]], Record], reasons: tuple[str, ...]
    ) -> None:
        """Record a refusal, or count it. `refused` makes its event."""
        key = (about.server.id, about.server.target, about.principal)
        if (period := self._periods.get(key)) is None:
            period = self._periods[key] = _Period(about, self._later(key))
        if period.recorded >= self._most:
            period.counted += 1
            for reason in reasons[: _REASONS - len(period.reasons)]:
                period.reasons[reason] = None
            return
        period.recorded += 1
        last = (_COUNTED,) if period.recorded == self._most else ()
        await self.ledger.record(refused((*reasons, *last)))

    async def aclose(self) -> None:
        """Record all pending counts."""
        for period in self._periods.values():
            period.timer.cancel()
        numbers = [self._number(period) for period in self._periods.values() if period.counted]
        self._periods.clear()
        if numbers:
            await self.ledger.record(*numbers)

    def _later(self, key: object) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(self._length, self._end, key)

    def _end(self, key: object) -> None:
        """End a period. While refusals continue, they are only counted."""
        period = self._periods.pop(key)
        if period.counted:
            self.ledger.record_soon(self._number(period))
            self._periods[key] = _Period(period.about, self._later(key), recorded=self._most)

    def _number(self, period: _Period) -> Record:
        trail = self.ledger.trail(self.ledger.new_question(), replace(period.about, request=None), None)
        return trail.refused((_MORE.format(f"{period.counted:,}"), *period.reasons), count=period.counted)


def _request(ledger: Ledger, cause: Cause | None) -> RequestRecord | None:
    """The call that asks, if it is known."""
    if cause is None or not cause.certain or not cause.calls:
        return None
    name, arguments = cause.calls[0]
    return ledger.request(cause.method, name, dict(arguments))
