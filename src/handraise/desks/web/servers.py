"""The page for servers and rules: who asked, what each may do, which limits hold, and taking rules back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from handraise.desks.gate import PolicyGate
from handraise.desks.telling import ago, left
from handraise.desks.web.pages import Pages
from handraise.desks.web.reception import Reception
from handraise.desks.web.sessions import Session
from handraise.policy import Counts, OwnRule
from handraise.policy.policy import Standing
from handraise.policy.rulebook import MAY
from handraise.policy.tables import Asking, LimitSettings
from handraise.questions import Origin
from handraise.site.posted import Posted, first

_WORDS: Final[dict[Asking, str]] = {"allow": "May ask", "mute": "Muted", "block": "Blocked"}
_MARKS: Final[dict[Asking, str]] = {"allow": "accept", "mute": "cancel", "block": "decline"}
_WAYS: Final[tuple[tuple[Asking, str], ...]] = (
    ("allow", "It may ask"),
    ("mute", "Mute: cancel what it asks, without a word"),
    ("block", "Block: cancel what it asks, and say that it tried"),
)


@dataclass(frozen=True, slots=True)
class ServerView:
    """One server as the page shows it."""

    handle: str
    origin: Origin
    person: str
    standing: Standing
    why: str
    asked: str
    limits: tuple[str, ...]

    @property
    def name(self) -> str:
        """By which the user knows it."""
        return self.origin.name

    @property
    def target(self) -> str:
        """Its command or URL, when it is known."""
        return self.origin.target

    @property
    def word(self) -> str:
        """What it may do, in a word."""
        return _WORDS[self.standing.asking]

    @property
    def mark(self) -> str:
        """Which mark stands beside the word."""
        return _MARKS[self.standing.asking]

    @property
    def can_be_undone(self) -> bool:
        """Whether a rule of the person's own is what counts."""
        return self.standing.rule is not None


class Servers:
    """Shows and changes what servers may do. Nothing is chosen beforehand, and everything can be taken back."""

    def __init__(
        self, gate: PolicyGate, reception: Reception, pages: Pages, *, now: Callable[[], float]
    ) -> None:
        self._gate = gate
        self._reception = reception
        self._pages = pages
        self._now = now
        self.routes = [
            Route("/{place}/servers", self._list),
            Route("/{place}/servers", self._change, methods=["POST"]),
        ]

    async def _list(self, request: Request) -> Response:
        session = self._reception.session(request)
        changed = self._find(session, request.query_params.get("changed", ""))
        said = "" if changed is None else f"{changed.name} {MAY[changed.standing.asking]}. {changed.why}"
        return self._show(session, said=said)

    async def _change(self, request: Request) -> Response:
        session = self._reception.session(request)
        posted = await self._reception.posted(request, session)
        server = self._find(session, first(posted, "server"))
        if server is None:
            raise HTTPException(404, "There is no such server here any more.")
        match first(posted, "do"):
            case "undo":
                if server.standing.rule is not None:
                    self._gate.policy.own.undo(server.standing.rule)
            case "make" if (asking := _asking(posted)) and first(posted, "for") in ("session", "always"):
                rule = OwnRule(server.name, asking, made=self._now(), person=server.person)
                self._gate.policy.remember(rule, keep=first(posted, "for") == "always")
            case "make":
                return self._show(session, 422, wrong=server.handle)
            case _:
                raise HTTPException(400, "No button was pressed.")
        return RedirectResponse(f"/{session.place}/servers?changed={server.handle}", 303)

    def _show(self, session: Session, status: int = 200, *, said: str = "", wrong: str = "") -> Response:
        return self._pages.render(
            "servers.html",
            status,
            session=session,
            count=len(self._reception.waiting(session)),
            servers=list(self._servers(session)),
            others=MAY[self._gate.policy.settings.default],
            ways=_WAYS,
            said=said,
            wrong=wrong,
        )

    def _find(self, session: Session, handle: str) -> ServerView | None:
        return next((each for each in self._servers(session) if each.handle == handle), None)

    def _servers(self, session: Session) -> Iterator[ServerView]:
        """Whoever asked, oldest first; then those that only a rule or the configuration names."""
        known: dict[Origin, str] = {}
        past = [ended.waiting for ended in reversed(self._reception.past(session))]
        for waiting in (*past, *self._reception.waiting(session)):
            known.setdefault(_plain(waiting.origin), waiting.person.key)
        named = {name for origin in known for name in (origin.name, origin.target)}
        person = "" if session.person is None else session.person.key
        rules = self._gate.policy.own.book().standing(self._now())
        for server in (
            *(rule.server for rule in rules if rule.person in ("", person) or not person),
            *self._gate.policy.settings.servers,
        ):
            if server not in named:
                named.add(server)
                known[Origin(server, "")] = next((r.person for r in rules if r.server == server), person)
        return (self._view(origin, whose) for origin, whose in known.items())

    def _view(self, origin: Origin, person: str) -> ServerView:
        now = self._now()
        standing = self._gate.policy.standing(origin, person, now)
        counts = self._gate.limits.counts(origin.name, person, None, now)
        bounds = self._gate.policy.settings.limits_for(origin.name, origin.target)
        return ServerView(
            handle=self._reception.mark(f"server:{origin.name}\n{origin.target}"),
            origin=origin,
            person=person,
            standing=standing,
            why=self._why(standing, now),
            asked=_asked(counts),
            limits=_limits(bounds),
        )

    def _why(self, standing: Standing, now: float) -> str:
        rule = standing.rule
        if rule is None:
            return "So says handraise.toml." if standing.by == "file" else "No rule names it."
        if rule.until is not None:
            lasts = f"for {left(rule.until - now)} more"
        else:
            lasts = "until you undo it" if self._gate.policy.own.keeps(rule) else "until this session ends"
        return f"Your own rule {lasts}, made {ago(now - rule.made)}."


def _plain(origin: Origin) -> Origin:
    """Without what the server says of itself: that makes no other server of it."""
    return Origin(origin.name, origin.target)


def _asking(posted: Posted) -> Asking | None:
    return next((value for value, _ in _WAYS if value == first(posted, "asking")), None)


def _asked(counts: Counts) -> str:
    said = []
    if counts.last_hour:
        said.append(f"{_questions(counts.last_hour)} in the last hour.")
    if counts.quiet_left > 0:
        said.append(f"You declined: it has to be quiet for {max(1, round(counts.quiet_left))} s more.")
    return " ".join(said)


def _limits(bounds: LimitSettings) -> tuple[str, ...]:
    return (
        f"{_questions(bounds.per_round)} of one call at the same time",
        f"{_questions(bounds.per_call)} in one call",
        f"{_questions(bounds.per_minute)} a minute, {bounds.per_hour} an hour",
        f"quiet for {bounds.quiet_after_decline:g} s after you decline, longer each time",
    )


def _questions(number: int) -> str:
    return "1 question" if number == 1 else f"{number} questions"
