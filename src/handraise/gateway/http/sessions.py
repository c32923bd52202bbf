"""The sessions of clients that sent `initialize`: whose each is, and which of them nobody uses any more."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from typing import Final

from handraise.gateway.http.exchange import Exchange
from handraise.gateway.messages import Message
from handraise.gateway.relay import Relay
from handraise.questions import Person

IDLE: Final = 3600.0
"""Seconds after which an unused session ends: clients come and go, and few say good-bye."""


class Session:
    """A client, and the stream on which it hears what belongs to no request."""

    def __init__(
        self, relay_for: Callable[[Exchange], Relay], hello: Message, person: Person | None = None
    ) -> None:
        self.id = secrets.token_urlsafe(24)
        self.person = person
        self.stream = Exchange(hello)
        self.relay = relay_for(self.stream)
        self.following = False
        self.used = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether its client follows its stream, or a call of it is under way or waits for a person."""
        return self.following or bool(self.relay.calls) or bool(self.relay.holding.waiting)


class Sessions:
    """All of them. Each holds a connection to the server, or a process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._all: dict[str, Session] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._all.values()))

    def add(self, session: Session) -> None:
        """Keep a session."""
        session.used = self._clock()
        self._all[session.id] = session

    def find(self, id: str, person: Person | None) -> Session | None:
        """The session of this id, if it is this person's: knowing its id is not enough."""
        session = self._all.get(id)
        if session is None or session.person != person:
            return None
        session.used = self._clock()
        return session

    def remove(self, session: Session) -> None:
        """Know it no more."""
        self._all.pop(session.id, None)

    def over(self) -> list[Session]:
        """The sessions that nobody used for an hour."""
        return [each for each in self._resting() if self._clock() - each.used >= IDLE]

    def longest_resting(self, person: Person | None) -> Session | None:
        """The session of a person that is unused for longest; None when all are in use."""
        return next((each for each in self._resting() if each.person == person), None)

    def _resting(self) -> list[Session]:
        return sorted((each for each in self if not each.is_busy), key=lambda each: each.used)
