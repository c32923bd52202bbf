"""The open calls of a host, so that a desk can say which one asks, and the links that its person opened."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from handraise.desks import Cause
from handraise.questions import UrlQuestion
from handraise.secrets import CallReading

if TYPE_CHECKING:
    from handraise.client.recording import HostRecord
    from handraise.ledger.events import CallEnd


MAX_RESENT: Final = 6
"""The SDK's client gives a call up after ten rounds. The last ones are left for the person, who says "done"."""


@dataclass(slots=True, eq=False)
class HostCall:
    """One request of the host (tool, prompt or resource) with all its rounds."""

    name: str
    arguments: Mapping[str, Any]
    method: str = "tools/call"
    trace: str | None = None
    """The id of its trace (W3C trace context)."""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    rounds: int = 0
    group: str | None = None
    """The current round, if it asks several questions at once."""
    opened: list[UrlQuestion] = field(default_factory=list)
    """The links that the person went to in this round."""
    agreed: set[str] = field(default_factory=set)
    """Links that the person agreed to in this call. The same link is not new to them, whatever its message says."""
    resent: int = 0
    """How often a link came back while the person was in the browser, and was agreed to again for them."""
    in_browser: asyncio.Queue[UrlQuestion] = field(default_factory=asyncio.Queue)
    """The links that were opened while the call itself waits (2025-11-25)."""
    reading: CallReading = field(default_factory=CallReading)
    """Its forms together, for the detector of secrets: three questions may ask for one card."""
    over: bool = False
    _accepted: list[HostRecord] = field(default_factory=list)
    """The records of accepted questions, to be joined to the end of the call."""
    shown: tuple[str, Mapping[str, Any]] = field(init=False)
    """The call as a desk shows it; one object for all its questions."""

    def __post_init__(self) -> None:
        self.shown = (self.name, self.arguments)

    def may_resend(self, question: UrlQuestion) -> bool:
        """Whether this is a link that the person agreed to, which the server sends again because they are not done."""
        return question.url in self.agreed and self.resent < MAX_RESENT

    def begin_round(self, number: int, questions: int) -> None:
        """Begin a 2026-07-28 round: its questions belong together."""
        self.rounds = number
        self.group = f"{self.id}.{number}" if questions > 1 else None
        self.opened.clear()

    def join(self, recording: HostRecord) -> None:
        """Join an accepted question to the call. After the end of the call its effect is unknown."""
        recording.used(None) if self.over else self._accepted.append(recording)

    def end(self, ended: CallEnd | None) -> None:
        """End the call; None if it is unknown how."""
        self.over = True
        while self._accepted:
            self._accepted.pop(0).used(ended)


CALL: ContextVar[HostCall | None] = ContextVar("handraise_client_call", default=None)
"""The call of the running task, if it is known."""


def asking_call(under_way: Sequence[HostCall]) -> HostCall | None:
    """The call that asks. Legacy revisions do not say: then it is the only open call."""
    return CALL.get() or (under_way[0] if len(under_way) == 1 else None)


def cause_of(under_way: Sequence[HostCall]) -> Cause | None:
    """The call that asks; if unknown, all candidates."""
    if (call := asking_call(under_way)) is not None:
        return Cause((call.shown,), method=call.method, call_id=call.id)
    return Cause(tuple(call.shown for call in under_way), certain=False) if under_way else None


_MOST: Final = 64
"""How many links are remembered: some servers never report the end."""


class OpenLinks:
    """The links that the person opened and that are not finished yet."""

    def __init__(self) -> None:
        self._expected: dict[str, asyncio.Event] = {}
        self._recorded: dict[UrlQuestion, HostRecord] = {}

    def __len__(self) -> int:
        return len(self._expected)

    def expect(self, link: UrlQuestion) -> asyncio.Event:
        """An event that is set when the server reports that this link is finished."""
        return self._expected.setdefault(str(link.elicitation_id), asyncio.Event())

    def noticed(self, elicitation_id: str) -> None:
        """Handle a completion notice; an unknown id is ignored."""
        if (finished := self._expected.get(elicitation_id)) is not None:
            finished.set()

    def forget(self, link: UrlQuestion) -> None:
        """Forget a link."""
        self._expected.pop(str(link.elicitation_id), None)

    def opened(self, link: UrlQuestion, recording: HostRecord) -> None:
        """Remember the record of a link that the person agreed to open, until it is finished."""
        self._recorded[link] = recording
        while len(self._recorded) > _MOST:
            del self._recorded[next(iter(self._recorded))]

    async def completed(self, link: UrlQuestion) -> None:
        """Record that a link is finished."""
        if (recording := self._recorded.pop(link, None)) is not None:
            await recording.completed()
