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
from handraise.desks.language import Language
from handraise.desks.web.pages import DeskPages
from handraise.desks.web.sessions import DeskVisit, QuestionLookup
from handraise.policy import Counts, OwnRule
from handraise.policy.policy import ServerStanding
from handraise.policy.settings import AskingRule, LimitSettings
from handraise.questions import Origin
from handraise.site.middleware import Posted, first

_MARKS: Final[dict[AskingRule, str]] = {"allow": "accept", "mute": "cancel", "block": "decline"}


@dataclass(frozen=True, slots=True)
class ServerView:
    """One server as the page shows it."""

    handle: str
    origin: Origin
    person: str
    standing: ServerStanding
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
    def mark(self) -> str:
        """Which mark stands beside the word."""
        return _MARKS[self.standing.asking]

    @property
    def can_be_undone(self) -> bool:
        """Whether a rule of the person's own is what counts."""
        return self.standing.rule is not None


class ServersPage:
    """Shows and changes what servers may do. Nothing is chosen beforehand, and everything can be taken back."""

    def __init__(
        self, gate: PolicyGate, lookup: QuestionLookup, pages: DeskPages, *, now: Callable[[], float]
    ) -> None:
        self._gate = gate
        self._lookup = lookup
        self._pages = pages
        self._now = now
        self.routes = [
            Route("/{place}/servers", self._list),
            Route("/{place}/servers", self._change, methods=["POST"]),
        ]

    async def _list(self, request: Request) -> Response:
        visit = await self._lookup.visit(request)
        changed = self._find(visit, request.query_params.get("changed", ""))
        said = ""
        if changed is not None:
            said = f"{changed.name} {visit.language(f'may_{changed.standing.asking}')}. {changed.why}"
        return self._show(visit, said=said)

    async def _change(self, request: Request) -> Response:
        visit = await self._lookup.visit(request)
        posted = visit.posted
        server = self._find(visit, first(posted, "server"))
        if server is None:
            raise HTTPException(404, visit.language("server_gone"))
        match first(posted, "do"):
            case "undo":
                if server.standing.rule is not None:
                    self._gate.policy.own.undo(server.standing.rule)
            case "make" if (asking := _asking(posted)) and first(posted, "for") in ("session", "always"):
                rule = OwnRule(server.name, asking, made=self._now(), person=server.person)
                self._gate.policy.remember(rule, keep=first(posted, "for") == "always")
            case "make":
                return self._show(visit, 422, wrong=server.handle)
            case _:
                raise HTTPException(400, visit.language("no_button"))
        return RedirectResponse(f"/{visit.session.place}/servers?changed={server.handle}", 303)

    def _show(self, visit: DeskVisit, status: int = 200, *, said: str = "", wrong: str = "") -> Response:
        return self._pages.render(
            "servers.html",
            status,
            visit,
            servers=list(self._servers(visit)),
            others=visit.language(f"may_{self._gate.policy.settings.default}"),
            ways=tuple(_MARKS),
            said=said,
            wrong=wrong,
        )

    def _find(self, visit: DeskVisit, handle: str) -> ServerView | None:
        return next((each for each in self._servers(visit) if each.handle == handle), None)

    def _servers(self, visit: DeskVisit) -> Iterator[ServerView]:
        """Servers that asked, oldest first; then servers that only a rule or the configuration names."""
        session = visit.session
        known: dict[Origin, str] = {}
        past = [ended.waiting for ended in reversed(self._lookup.past(session))]
        for waiting in (*past, *self._lookup.waiting(session)):
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
        return (self._view(origin, whose, visit.language) for origin, whose in known.items())

    def _view(self, origin: Origin, person: str, language: Language) -> ServerView:
        now = self._now()
        standing = self._gate.policy.standing(origin, person, now)
        counts = self._gate.limits.counts(origin.name, person, None, now)
        bounds = self._gate.policy.settings.limits_for(origin.name, origin.target)
        return ServerView(
            handle=self._lookup.mark(f"server:{origin.name}\n{origin.target}"),
            origin=origin,
            person=person,
            standing=standing,
            why=self._why(standing, now, language),
            asked=_asked(counts, language),
            limits=_limits(bounds, language),
        )

    def _why(self, standing: ServerStanding, now: float, language: Language) -> str:
        rule = standing.rule
        if rule is None:
            return language("so_says_file" if standing.by == "file" else "no_rule_names_it")
        if rule.until is not None:
            lasts = f"({language.left(rule.until - now)})"
        else:
            lasts = language("until_undone" if self._gate.policy.own.keeps(rule) else "until_session_ends")
        return language("own_rule", lasts=lasts, when=language.ago(now - rule.made))


def _plain(origin: Origin) -> Origin:
    """Without what the server says of itself: that makes no other server of it."""
    return Origin(origin.name, origin.target)


def _asking(posted: Posted) -> AskingRule | None:
    return next((value for value in _MARKS if value == first(posted, "asking")), None)


def _asked(counts: Counts, language: Language) -> str:
    said = []
    if counts.last_hour:
        said.append(language("asked_last_hour", count=counts.last_hour))
    if counts.quiet_left > 0:
        said.append(language("has_to_be_quiet", count=max(1, round(counts.quiet_left))))
    return " ".join(said)


def _limits(bounds: LimitSettings, language: Language) -> tuple[str, ...]:
    return (
        language("limit_round", count=bounds.per_round),
        language("limit_call", count=bounds.per_call),
        language("limit_time", count=bounds.per_minute, hour=bounds.per_hour),
        language("limit_quiet", seconds=language.number(bounds.quiet_after_decline)),
    )
