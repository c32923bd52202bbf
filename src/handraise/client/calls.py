"""The calls that a host has under way, so that a desk can say which of them asks."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from handraise.desks import Cause
from handraise.questions import UrlQuestion
from handraise.secrets import CallReading

if TYPE_CHECKING:
    from handraise.client.recording import HostRecord
    from handraise.ledger.events import CallEnd


@dataclass(slots=True, eq=False)
class HostCall:
    """One request of the host's (a tool, a prompt or a resource), with all its rounds."""

    name: str
    arguments: Mapping[str, Any]
    method: str = "tools/call"
    trace: str | None = None
    """The id of the trace that it is part of (W3C trace context)."""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    rounds: int = 0
    group: str | None = None
    """The round that is being answered, when it asks several questions at once."""
    opened: list[UrlQuestion] = field(default_factory=list)
    """The links that the person went to in this round."""
    agreed: set[str] = field(default_factory=set)
    """Where the person went in this call: the same link is not new to them, whatever is said around it."""
    in_browser: asyncio.Queue[UrlQuestion] = field(default_factory=asyncio.Queue)
    """The links that were opened while the call itself waits (2025-11-25)."""
    reading: CallReading = field(default_factory=CallReading)
    """Its forms, read together: three questions may ask for a card."""
    over: bool = False
    _accepted: list[HostRecord] = field(default_factory=list)
    """The records of what the person said yes to, to be joined to how it ends."""
    told: tuple[str, Mapping[str, Any]] = field(init=False)
    """What a desk shows of it; the same object for every question."""

    def __post_init__(self) -> None:
        self.told = (self.name, self.arguments)

    def begin_round(self, number: int, questions: int) -> None:
        """A round of 2026-07-28 begins: its questions belong together, and nothing is open yet."""
        self.rounds = number
        self.group = f"{self.id}.{number}" if questions > 1 else None
        self.opened.clear()

    def join(self, recording: HostRecord) -> None:
        """The person said yes in it. What becomes of a yes that comes after its end, nobody knows."""
        recording.used(None) if self.over else self._accepted.append(recording)

    def end(self, ended: CallEnd | None) -> None:
        """It is over; None: nobody knows how."""
        self.over = True
        while self._accepted:
            self._accepted.pop(0).used(ended)


CALL: ContextVar[HostCall | None] = ContextVar("handraise_client_call", default=None)
"""The call that the running task makes, where the revision lets us know."""


def asking_call(under_way: Sequence[HostCall]) -> HostCall | None:
    """The call that asks. On the legacy revisions nothing says so: one that is alone under way is it."""
    return CALL.get() or (under_way[0] if len(under_way) == 1 else None)


def cause_of(under_way: Sequence[HostCall]) -> Cause | None:
    """Which call asks; where that is not known, all that may."""
    if (call := asking_call(under_way)) is not None:
        return Cause((call.told,), method=call.method, call_id=call.id)
    return Cause(tuple(call.told for call in under_way), certain=False) if under_way else None
