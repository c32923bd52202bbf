"""Which events somebody wants to see."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from handraise.ledger.events import Event, Principal

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class Filter:
    """What an event has to be. Without a word, anything."""

    server: str | None = None
    person: str | None = None
    """A subject, or the whole key of a person."""
    tool: str | None = None
    action: str | None = None
    kind: str | None = None
    since: int | None = None
    until: int | None = None
    """Milliseconds since 1970; `until` itself is outside."""

    def matches(self, event: Event) -> bool:
        """Whether this is one of the events that are wanted."""
        about, principal, request = event.about, event.about.principal, event.about.request
        return (
            (self.server is None or about.server.id == self.server)
            and (self.person is None or (principal is not None and is_person(principal, self.person)))
            and (self.tool is None or (request is not None and request.target == self.tool))
            and (self.action is None or event.action == self.action)
            and (self.kind is None or event.kind == self.kind)
            and (self.since is None or event.time >= self.since)
            and (self.until is None or event.time < self.until)
        )


def is_person(principal: Principal, named: str) -> bool:
    """Whether somebody who types this means the person: it is their whole key, or their subject."""
    return named in (principal.key, principal.subject)


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
