"""The open calls of a host, so that a desk can say which one asks."""

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
    told: tuple[str, Mapping[str, Any]] = field(init=False)
    """The call as a desk shows it; one object for all its questions."""

    def __post_init__(self) -> None:
        self.told = (self.name, self.arguments)

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
        return Cause((call.told,), method=call.method, call_id=call.id)
    return Cause(tuple(call.told for call in under_way), certain=False) if under_way else None
