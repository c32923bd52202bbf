"""The page on which a person adds a passkey or removes one. A person who has one already uses it first.

The attack: a program that runs as the person adds a passkey of its own, and then answers with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from handraise.desks.language import Language
from handraise.desks.passkeys import Passkeys, Use
from handraise.desks.queue import ARMED_AFTER
from handraise.desks.web.lookup import QuestionLookup
from handraise.desks.web.pages import DeskPages, language_of
from handraise.desks.web.passkey_answers import FIELD, options, why_refused
from handraise.desks.web.sessions import DeskSession, PasskeyTask
from handraise.errors import HandraiseError, SetupError
from handraise.questions import Person
from handraise.site.middleware import first

logger = logging.getLogger(__name__)

PATH = "passkey"
_MOST = 1000
"""Browsers whose progress is remembered."""
Heard = Callable[[str, str], None]
"""Told what happened on the page: "seen", "proven", "added", "removed" or "trouble", and the name of it."""


@dataclass(slots=True)
class _Progress:
    """How far one browser is."""

    passkey_task: PasskeyTask
    proven: bool = False
    done: bool = False


class PasskeyPage:
    """The page, and the two steps of each of its buttons."""

    def __init__(
        self,
        passkeys: Passkeys,
        lookup: QuestionLookup,
        pages: DeskPages,
        *,
        enrols: bool,
        heard: Heard | None = None,
    ) -> None:
        """`enrols`: who is signed in may add their first passkey without a link that is made for it."""
        self._passkeys = passkeys
        self._lookup = lookup
        self._pages = pages
        self._enrols = enrols
        self._heard = _ignore if heard is None else heard
        self._progress: dict[str, _Progress] = {}
        self.routes = [
            Route(f"/{{place}}/{PATH}", self._page),
            Route(f"/{{place}}/{PATH}", self._act, methods=["POST"]),
            Route(f"/{{place}}/{PATH}/options", self._begin, methods=["POST"]),
            Route(f"/{{place}}/{PATH}/trouble", self._trouble, methods=["POST"]),
        ]

    def awaits(self, session: DeskSession) -> bool:
        """Whether a browser was let in for this page and has not finished there."""
        return session.passkey_task is not None and not self._of(session)[1].done

    async def _page(self, request: Request) -> Response:
        session = self._lookup.session(request)
        self._heard("seen", "")
        return self._show(session, language_of(request))

    async def _begin(self, request: Request) -> Response:
        session = self._lookup.session(request)
        await self._lookup.posted(request, session)
        person, progress = self._of(session)
        if progress.done:
            return Response(status_code=409)
        use = _use(session, person, progress.passkey_task)
        try:
            if self._step(person, progress) == "add":
                return options(self._passkeys.begin_registration(use))
            return options(self._passkeys.begin_assertion(use))
        except SetupError:
            return Response(status_code=409)  # the page posts instead, and is told why

    async def _act(self, request: Request) -> Response:
        session = self._lookup.session(request)
        posted = await self._lookup.posted(request, session)
        person, progress = self._of(session)
        if progress.done:
            return RedirectResponse(request.url.path, 303)
        try:
            self._take(session, person, progress, first(posted, FIELD))
        except HandraiseError as error:
            logger.warning("a passkey was refused: %s", error)
            self._heard("trouble", "refused")
            language = language_of(request)
            return self._show(session, language, 422, why_refused(error, posted, language))
        return RedirectResponse(request.url.path, 303)

    def _take(self, session: DeskSession, person: Person, progress: _Progress, given: str) -> None:
        use, step = _use(session, person, progress.passkey_task), self._step(person, progress)
        if step == "add":
            self._passkeys.finish_registration(given, use)
            progress.done = True
            self._heard("added", use.name)
            return
        self._passkeys.finish_assertion(given, use)
        if step == "remove":
            self._passkeys.remove(person, use.name)
            progress.done = True
            self._heard("removed", use.name)
        else:
            progress.proven = True
            self._heard("proven", "")

    async def _trouble(self, request: Request) -> Response:
        """The browser says why it did nothing. The command that waits at a terminal hears it."""
        session = self._lookup.session(request)
        posted = await self._lookup.posted(request, session)
        self._heard("trouble", first(posted, "why")[:40])
        return Response(status_code=204)

    def _show(self, session: DeskSession, language: Language, status: int = 200, note: str = "") -> Response:
        person, progress = self._of(session)
        return self._pages.render(
            "passkey.html",
            status,
            session=session,
            language=language,
            count=len(self._lookup.waiting(session)),
            at=f"/{session.place}/{PATH}",
            step="done" if progress.done else self._step(person, progress),
            passkey_task=progress.passkey_task,
            came_for_it=session.passkey_task is not None,
            armed_after=round(ARMED_AFTER * 1000),
            note=note,
        )

    def _of(self, session: DeskSession) -> tuple[Person, _Progress]:
        """The owner of the passkeys and the current step. 403 for a browser that may not add any."""
        person, passkey_task = session.person, session.passkey_task
        if session.cookie not in self._progress:
            if person is not None and passkey_task is None and self._enrols:
                passkey_task = PasskeyTask("add", self._passkeys.free_name(person))
            if person is None or passkey_task is None:
                raise HTTPException(403, "This link does not let you change passkeys.")
            self._progress[session.cookie] = _Progress(passkey_task)
            while len(self._progress) > _MOST:
                del self._progress[next(iter(self._progress))]
        assert person is not None
        return person, self._progress[session.cookie]

    def _step(self, person: Person, progress: _Progress) -> str:
        """The button to show: "add", "remove", or "use", which is one's other passkey before a new one is added."""
        if progress.passkey_task.purpose == "remove":
            return "remove"
        if progress.proven or progress.passkey_task.trusted or not self._passkeys.of(person):
            return "add"
        return "use"


def _ignore(what: str, name: str) -> None:
    """For a page that nobody waits for."""


def _use(session: DeskSession, person: Person, passkey_task: PasskeyTask) -> Use:
    return Use(passkey_task.purpose, session.cookie, person, name=passkey_task.name)
