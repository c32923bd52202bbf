"""What becomes of a host's questions, written to the ledger: before an answer leaves, it is on disk."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol

from handraise.desks import Cause, Decision, Waiting
from handraise.questions import Accepted, Origin, Person
from handraise.revisions import Revision

if TYPE_CHECKING:
    from handraise.ledger import Ledger
    from handraise.ledger.events import About, Client, Ended, Request


ASKER_ENDED: Final = "the asker ended while it was asking"
"""The message with which a question is cancelled whose asker is gone, so that what it did before is not known."""
_NOT_KNOWN: Final = "how the call ended that used the answer is not known"


class Recording(Protocol):
    """The record of one question."""

    async def asked(self) -> None:
        """It goes to a desk."""
        ...

    def shown(self) -> None:
        """A desk displays it."""
        ...

    async def refused(self, reasons: tuple[str, ...]) -> None:
        """The policy keeps it from the desks."""
        ...

    async def decided(self, decision: Decision) -> None:
        """It has been decided."""
        ...

    async def passed_on(self, why: str) -> None:
        """Somebody else puts it to the person, whose answer is not heard here."""
        ...

    def withdrawn(self) -> None:
        """Its asker went away. Nobody waits for this: the call is over."""
        ...

    def ambiguous(self) -> None:
        """Its asker ended while it was asking. Nobody waits for this, either."""
        ...

    async def failed(self, reason: str) -> None:
        """It came to nothing."""
        ...

    async def completed(self) -> None:
        """What its link led to is finished."""
        ...

    def used(self, ended: Ended | None) -> None:
        """The call is over in which it was accepted; None: nobody knows how it ended. Nobody waits for this."""
        ...


class NotRecorded:
    """For a host without a ledger."""

    async def asked(self) -> None: ...
    def shown(self) -> None: ...
    async def refused(self, reasons: tuple[str, ...]) -> None: ...
    async def decided(self, decision: Decision) -> None: ...
    async def passed_on(self, why: str) -> None: ...
    def withdrawn(self) -> None: ...
    def ambiguous(self) -> None: ...
    async def failed(self, reason: str) -> None: ...
    async def completed(self) -> None: ...
    def used(self, ended: Ended | None) -> None: ...


NOT_RECORDED = NotRecorded()


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known around a question."""

    origin: Origin
    person: Person
    revision: Revision | None
    client: Client | None = None
    policy: str | None = None
    gateway: str | None = None
    trace: str | None = None

    def about(self, request: Request | None = None, mode: Literal["form", "url"] | None = None) -> About:
        """What all events of the question have in common."""
        from handraise.ledger.events import About
        from handraise.ledger.parties import principal_of, server_of

        return About(
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


class InLedger:
    """The record of one question in a ledger. It ends with the call that asks, where the host can tell which."""

    def __init__(self, ledger: Ledger, waiting: Waiting, around: Circumstances) -> None:
        from handraise.ledger.trail import shown_of

        about = around.about(_request(ledger, waiting.cause), waiting.question.mode)
        known = around.revision or Revision.JULY_2026
        told = shown_of(waiting.question, known, secrets=waiting.secrets, link=waiting.link)
        self._ledger = ledger
        self._trail = ledger.trail(
            f"q_{waiting.id}", about, told, until="decided" if about.request is None else "used"
        )
        self._showing: asyncio.Future[None] | None = None

    async def asked(self) -> None:
        await self._ledger.record(self._trail.asked())

    def shown(self) -> None:
        self._showing = self._ledger.record_soon(self._trail.shown())

    async def refused(self, reasons: tuple[str, ...]) -> None:
        await self._ledger.record(self._trail.refused(reasons))

    async def decided(self, decision: Decision) -> None:
        if self._showing is not None:
            await self._showing
        if decision.by == "timeout":
            await self._ledger.record(self._trail.expired())
            return
        answer = decision.answer
        records = [
            self._trail.decided(
                answer.action,
                decision.by,
                content=answer.data if isinstance(answer, Accepted) else None,
                edited=decision.edited,
                reasons=(decision.reason,) if decision.reason else (),
            )
        ]
        if isinstance(answer, Accepted) and self._trail.about.mode == "url":
            records.append(self._trail.opened())  # a link that could not be opened is a cancel
        await self._ledger.record(*records)

    async def passed_on(self, why: str) -> None:
        await self._ledger.record(self._trail.asked(), self._trail.withdrawn(why))

    def withdrawn(self) -> None:
        self._ledger.record_soon(self._trail.withdrawn("the asker went away"))

    def ambiguous(self) -> None:
        self._ledger.record_soon(self._trail.ambiguous(ASKER_ENDED))

    async def failed(self, reason: str) -> None:
        await self._ledger.record(self._trail.failed(reason))

    async def completed(self) -> None:
        await self._ledger.record(self._trail.completed())

    def used(self, ended: Ended | None) -> None:
        if (request := self._trail.about.request) is not None:
            over = self._trail.ambiguous(_NOT_KNOWN) if ended is None else self._trail.used(request, ended)
            self._ledger.record_soon(over)


def begin_record(ledger: Ledger | None, waiting: Waiting, around: Circumstances) -> Recording:
    """The record of a question, where there is a ledger."""
    return NOT_RECORDED if ledger is None else InLedger(ledger, waiting, around)


async def record_unreadable(ledger: Ledger | None, around: Circumstances, reason: str) -> None:
    """Record a question that could not even be read, or that nobody here can be asked."""
    if ledger is not None:
        await ledger.record(ledger.trail(ledger.new_question(), around.about(), None).refused((reason,)))


def _request(ledger: Ledger, cause: Cause | None) -> Request | None:
    """The call that asks, when the host can tell which."""
    if cause is None or not cause.certain or not cause.calls:
        return None
    name, arguments = cause.calls[0]
    return ledger.request(cause.method, name, dict(arguments))
