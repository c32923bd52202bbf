"""Pages, the visits of people to them, and their look."""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from handraise.desks.language import Language
from handraise.errors import NoRoom, SetupError
from handraise.questions import Accepted, Answer, Cancelled, Declined, Person
from handraise.site.middleware import Posted

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class BrowserAtPage:
    """A browser in front of somebody's page, for one request."""

    request: Request
    visit: Visit
    at: str
    """The page's path."""
    back: str
    """The full URL for returns from other sites, with the visit's `expects` as `state`."""
    browser: str
    """The id of this browser; only this browser has the cookie."""
    language: Language
    """The browser's."""
    admit: Callable[[Response], Response]
    """Binds this browser to the visit with a new cookie."""
    render: Callable[..., Response]
    """`render(template, status=200, **values)`: a page with this visit's `csrf` and buttons."""


class Page(Protocol[R]):
    """One kind of page. `R` is the author's result."""

    @property
    def title(self) -> str:
        """The subject, in a few words."""
        ...

    @property
    def message(self) -> str:
        """The question's text in the client, before the link."""
        ...

    @property
    def service(self) -> str | None:
        """The name of the result in the vault; None keeps nothing."""
        ...

    @property
    def keep_for(self) -> float | None:
        """Seconds that the vault keeps it; None for ever."""
        ...

    async def show(self, sitting: BrowserAtPage) -> Response:
        """The page for the asked person."""
        ...

    async def take(self, sitting: BrowserAtPage, posted: Posted) -> Response | Accepted[R]:
        """Handle a button: return another page, or the result."""
        ...

    async def step(self, sitting: BrowserAtPage, name: str) -> Response | Answer[R] | None:
        """Handle the address `name` below the page; None if there is no such address.

        `back` is where another site sent the browser back with the `state` that the visit expects.
        """
        ...

    def dump(self, result: R) -> Mapping[str, Any]:
        """The result in the vault's form."""
        ...

    async def recall(self, contents: Mapping[str, Any]) -> R | None:
        """The result from the vault, renewed if necessary; None when the person must be asked again."""
        ...


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


_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{6}")
_LOGOS: Final = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
    b"<svg": "image/svg+xml",
    b"<?xml": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Brand:
    """How pages present themselves. The logo is the bytes of a PNG, JPEG, GIF, WebP or SVG picture."""

    name: str | None = None
    logo: bytes | None = None
    colour: str | None = None
    """`#rrggbb`, for the line at the top and the main button."""

    def __post_init__(self) -> None:
        if self.colour is not None and not _COLOUR.fullmatch(self.colour):
            raise SetupError(f"a brand's colour is written #rrggbb, not {self.colour!r}")
        if self.logo is not None and self.logo_type is None:
            raise SetupError("a brand's logo is the bytes of a PNG, JPEG, GIF, WebP or SVG picture")

    @property
    def logo_type(self) -> str | None:
        """The media type of the logo."""
        logo = (self.logo or b"").lstrip()
        return next((kind for start, kind in _LOGOS.items() if logo.startswith(start)), None)

    @property
    def stylesheet(self) -> str:
        """The colour as a stylesheet; the text on it is black or white, depending on contrast."""
        if self.colour is None:
            return ""
        ink = "#ffffff" if _luminance(self.colour) < 0.179 else "#000000"
        return (
            f".top {{ border-bottom: 4px solid {self.colour}; }}\n"
            f"button.main, .button.main, button.main:hover, .button.main:hover "
            f"{{ background: {self.colour}; border-color: {self.colour}; color: {ink}; }}\n"
        )


def _luminance(colour: str) -> float:
    """The relative luminance of a colour (WCAG)."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return 0.2126 * _linear(red) + 0.7152 * _linear(green) + 0.0722 * _linear(blue)


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)
