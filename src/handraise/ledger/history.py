"""Filters for events, and the earlier decisions that a desk shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from handraise.desks.endings import Earlier, Past
from handraise.ledger.events import LedgerEvent, Principal
from handraise.questions import Person
from handraise.this_user import person_name

if TYPE_CHECKING:
    from handraise.ledger.events import LedgerEvent, Outcome
    from handraise.ledger.ledger import Ledger


_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Conditions for events. An empty filter matches all."""

    server: str | None = None
    person: str | None = None
    """A subject, a login name, or the whole key of a person."""
    tool: str | None = None
    action: str | None = None
    """An outcome: `accept` leaves out what was answered with no, `said_no` is only that."""
    kind: str | None = None
    since: int | None = None
    until: int | None = None
    """Milliseconds since 1970; `until` itself is outside."""

    def matches(self, event: LedgerEvent) -> bool:
        """Whether an event matches."""
        about, principal, request = event.about, event.about.principal, event.about.request
        return (
            (self.server is None or about.server.id == self.server)
            and (self.person is None or (principal is not None and is_person(principal, self.person)))
            and (self.tool is None or (request is not None and request.target == self.tool))
            and (self.action is None or event.outcome == self.action)
            and (self.kind is None or event.kind == self.kind)
            and (self.since is None or event.time >= self.since)
            and (self.until is None or event.time < self.until)
        )


def is_person(principal: Principal, named: str) -> bool:
    """Whether a text names the person: by their key, subject or login name."""
    name = person_name(principal.how, principal.issuer, principal.subject)
    return named in (principal.key, principal.subject, name)


def parse_when(text: str, now: datetime) -> int:
    """A date, a date and time, or how long ago ("90d", "2h"): milliseconds since 1970. ValueError for anything else.

    Without a zone it is the zone of `now`.
    """
    if ago := parse_span(text):
        return int((now - ago).timestamp() * 1000)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=now.tzinfo or UTC)
    return int(moment.timestamp() * 1000)


def parse_span(text: str) -> timedelta | None:
    """A length of time: a number and s, m, h, d or w; None for anything else."""
    found = re.fullmatch(r"([0-9]{1,6})([smhdw])", text.strip())
    return None if found is None else timedelta(**{_UNITS[found[2]]: int(found[1])})


_MOST: Final = 50
_LOOKED_AT: Final = 2000
"""The most events to read for one page."""
_VERBS: Final[dict[Outcome, str]] = {
    "accept": "accepted it",
    "said_no": "said no",
    "decline": "declined it",
    "cancel": "cancelled it",
}
_BY: Final = {
    "human": "A person {}",
    "policy": "One of your rules {}",
    "agent": "The program {}",
    "client": "The client by itself {}",
    "timeout": "Nobody answered in time",
}


def desk_history(ledger: Ledger) -> Earlier:
    """Read a desk's history from this ledger: `WebDesk(queue, earlier=earlier(ledger))`."""

    async def decided(person: Person | None, before: float) -> list[Past]:
        found: list[Past] = []
        looked_at = 0
        async for _, event in ledger.newest():
            looked_at += 1
            if event.kind == "decided" and event.time < before * 1000 and _is_of(event, person):
                found.append(_past(event))
            if len(found) == _MOST or looked_at == _LOOKED_AT:
                break
        return found

    return decided


def _is_of(event: LedgerEvent, person: Person | None) -> bool:
    principal = event.about.principal
    return person is None or (principal is not None and principal.key == person.key)


def _past(event: LedgerEvent) -> Past:
    assert event.outcome is not None  # the ledger takes no decision without them
    assert event.decided_by is not None
    request = event.about.request
    return Past(
        event.about.server.id,
        None if request is None else request.target,
        _BY[event.decided_by].format(_VERBS[event.outcome])
        + (" with a passkey" if event.how == "passkey" else ""),
        event.time / 1000,
    )
