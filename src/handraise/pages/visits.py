"""Visits: the pages that people were asked to finish."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from handraise.errors import NoRoom
from handraise.pages.page import Page
from handraise.questions import Answer, Cancelled, Declined, Person

VisitState = Literal["waiting", "finished", "declined", "cancelled", "expired"]

_REMEMBERED = 600.0
"""Seconds that an ended visit is kept, with its result."""
_MOST = 10_000
_MOST_OF_ONE = 1_000
"""How many of them may be for one person. The attack: one person's calls open pages until there are none for others."""
_WRONG_CODES = 5
"""How many wrong codes a page accepts before it is locked. The person gets a new link by asking again."""


@dataclass(frozen=True, slots=True)
class VisitReason:
    """The server and its reason, shown before the person types anything."""

    server: str
    client: str | None
    """The client's own name."""
    request: str
    """The called tool, prompt or resource."""
    why: str


@dataclass(eq=False, slots=True)
class Visit:
    """One page for one person. Its id is the link's only secret, and is not enough to open it."""

    page: Page[Any]
    person: Person
    about: VisitReason
    deadline: float
    """Wall clock, in seconds."""
    key: str
    """Equal for the same question, which leads to the same page."""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    elicitation_id: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    code: str | None = field(default=None, repr=False)
    """The code that the person types if the system hides whose browser it is."""
    wrong_codes: int = 0
    answer: Answer[Any] | None = field(default=None, repr=False)
    ended_at: float | None = None
    browsers: set[str] = field(default_factory=set, repr=False)
    """The browsers that typed the code."""
    expects: str | None = field(default=None, repr=False)
    """The `state` for a return from another site; random, and new for every departure."""

    @property
    def takes_codes(self) -> bool:
        """Whether its code still works: there is one, and it was not guessed at too often."""
        return self.code is not None and self.wrong_codes < _WRONG_CODES

    @property
    def opens_for_nobody(self) -> bool:
        """Whether its code was guessed at too often before the right one came."""
        return self.wrong_codes >= _WRONG_CODES and not self.browsers

    def state(self, now: float) -> VisitState:
        """Its state."""
        match self.answer:
            case None:
                return "waiting" if now < self.deadline else "expired"
            case answer:
                return _STATES[answer.action]


_STATES: dict[str, VisitState] = {"accept": "finished", "decline": "declined", "cancel": "cancelled"}

SettleVisit = Callable[[Visit, Answer[Any]], Awaitable[None]]
"""Runs before an answer counts: it stores the secret and tells the waiting call."""


class Visits:
    """The visits of one server, in memory: an entry goes to the process that asked."""

    def __init__(self, settle: SettleVisit, clock: Callable[[], float] = time.time) -> None:
        self._settle = settle
        self._clock = clock
        self._by_id: dict[str, Visit] = {}

    def open(
        self,
        page: Page[Any],
        person: Person,
        about: VisitReason,
        *,
        key: str,
        seconds: float,
        code: str | None,
    ) -> Visit:
        """Open a visit for a person, or return the waiting one for the same question."""
        self._forget()
        now = self._clock()
        for known in self._by_id.values():
            if known.opens_for_nobody:
                continue
            if known.key == key and known.person == person and known.state(now) == "waiting":
                known.deadline = max(known.deadline, now + seconds)
                return known
        of_person = sum(known.person == person for known in self._by_id.values())
        if len(self._by_id) >= _MOST or of_person >= _MOST_OF_ONE:
            raise NoRoom("as many pages wait for people as this server keeps")
        visit = Visit(page, person, about, now + seconds, key, code=code)
        self._by_id[visit.id] = visit
        return visit

    def find(self, visit_id: str) -> Visit | None:
        """The visit of a link; None when there is none, or it ended long ago."""
        self._forget()
        return self._by_id.get(visit_id)

    def find_reference(self, elicitation_id: str) -> Visit | None:
        """The visit with this reference for another site."""
        return next((v for v in self._by_id.values() if v.elicitation_id == elicitation_id), None)

    def find_returning(self, state: str) -> Visit | None:
        """The visit that expects this `state`."""
        self._forget()
        given = state.encode("utf-8", "surrogatepass")
        expecting = [v for v in self._by_id.values() if v.expects is not None]
        return next((v for v in expecting if hmac.compare_digest(str(v.expects).encode(), given)), None)

    def last(self, key: str, person: Person) -> Visit | None:
        """The newest visit of a person for the same question."""
        found = [visit for visit in self._by_id.values() if visit.key == key and visit.person == person]
        return found[-1] if found else None

    def state(self, visit: Visit) -> VisitState:
        """The current state of a visit."""
        return visit.state(self._clock())

    def wait_for(self, how: str) -> bool:
        """Whether a page waits for a person of this kind."""
        now = self._clock()
        return any(v.person.how == how and v.state(now) == "waiting" for v in self._by_id.values())

    async def end(self, visit: Visit, answer: Answer[Any]) -> bool:
        """End a visit, once; False when it was over already. If settling fails, the visit has not ended."""
        if self.state(visit) != "waiting":
            return False
        visit.answer, visit.ended_at = answer, self._clock()
        try:
            await self._settle(visit, answer)
        except BaseException:
            visit.answer = visit.ended_at = None
            raise
        return True

    def withdraw(self, visit: Visit, answer: Declined | Cancelled) -> None:
        """Close a page that is no longer needed: the person decided in the client, and the asking call knows it."""
        if self.state(visit) == "waiting":
            visit.answer, visit.ended_at = answer, self._clock()

    def forget(self, visit: Visit) -> None:
        """Remove a visit. Its link then leads to nothing."""
        self._by_id.pop(visit.id, None)

    def _forget(self) -> None:
        before = self._clock() - _REMEMBERED
        for visit in [v for v in self._by_id.values() if before >= (v.ended_at or v.deadline)]:
            del self._by_id[visit.id]
