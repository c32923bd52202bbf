"""The sessions of clients that shook hands: whose each is, and which of them nobody uses any more."""

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
"""Seconds after which a session ends that nobody used: clients come and go, and few say good-bye."""
MOST: Final = 64
"""How many sessions one person may have; the one that rested longest makes room."""


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
        """Whether its client waits for something."""
        return self.following or bool(self.relay.calls)


class Sessions:
    """All of them. Each holds a connection to the server, or a process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._all: dict[str, Session] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._all.values()))

    def add(self, session: Session) -> list[Session]:
        """Keep a session; those that have to go for it, or are over."""
        over = self._over(session.person)
        for each in over:
            self.remove(each)
        session.used = self._clock()
        self._all[session.id] = session
        return over

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

    def _over(self, person: Person | None) -> list[Session]:
        resting = sorted((each for each in self if not each.is_busy), key=lambda each: each.used)
        theirs = [each for each in resting if each.person == person]
        too_many = sum(each.person == person for each in self) + 1 - MOST
        over = [each for each in resting if self._clock() - each.used >= IDLE]
        return list(dict.fromkeys([*over, *theirs[: max(0, too_many)]]))
