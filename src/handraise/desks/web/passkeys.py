"""Passkeys at the web desk: accepting with one, and the page on which a person adds or removes one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from handraise.desks.language import Language
from handraise.desks.passkeys import INSTALL, Passkeys, Use
from handraise.desks.queue import ARMED_AFTER
from handraise.desks.waiting import Decision, PasskeyProof, Waiting, answer_digest, lacks_passkey
from handraise.desks.web.pages import DeskPages
from handraise.desks.web.sessions import DeskSession, DeskVisit, PasskeyTask, QuestionLookup
from handraise.errors import HandraiseError, PasskeyRefused, SetupError
from handraise.questions import Accepted, Person
from handraise.site.middleware import Posted, first

logger = logging.getLogger(__name__)

FIELD = "passkey"
"""The field of a form in which a page sends what the browser gave it."""

Deciding = Sequence[tuple[Waiting, Decision]]
"""Questions, with what is to be decided about each."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a page shows in place of its button that accepts."""

    ready: bool
    """Whether the person has a passkey that works here."""
    advice: str = ""
    """What to do when they have none."""
    add: bool = False
    """Whether they may register one at this desk."""
    own_desk: bool = False
    """Whether another desk takes it: that of the program that asks."""


class PasskeyAnswers:
    """The desk's side of a yes with a passkey. The queue takes no yes that lacks one, whatever a page posts."""

    def __init__(self, passkeys: Passkeys | None, *, advice: str, enrols: bool = False) -> None:
        """`advice` says how a person registers their first passkey; `enrols`: they can at this desk."""
        self.passkeys = passkeys
        self.enrols = enrols
        self._advice = advice

    def offer(self, asked: Sequence[Waiting], language: Language, *, elsewhere: bool) -> Offer | None:
        """What to show; None when no passkey is needed.

        `elsewhere`: another process asks. A proof counts in one process only, so this desk leads to the desk there.
        """
        needing = [waiting for waiting in asked if waiting.passkey]
        if not needing:
            return None
        if elsewhere:
            return Offer(False, language("passkey_at_own_desk"), own_desk=True)
        if self.passkeys is None:
            return Offer(False, language("passkey_no_desk"))
        if not self.passkeys.available:
            return Offer(False, language.sentence(INSTALL))
        try:
            if all(self.passkeys.of(waiting.person) for waiting in needing):
                return Offer(True)
        except SetupError as error:
            return Offer(False, str(error))
        return Offer(False, language.sentence(self._advice), self.enrols)

    def begin(self, visit: DeskVisit, deciding: Deciding) -> Response:
        """Options for the person's passkey; 409 if none is needed: then the page posts without one."""
        use = _use_for(visit.session, deciding)
        try:
            if use is None or self.passkeys is None or not self.passkeys.of(use.person):
                return Response(status_code=409)
            return options(self.passkeys.begin_assertion(use))
        except SetupError:
            return Response(status_code=409)

    def prove(self, visit: DeskVisit, deciding: Deciding) -> PasskeyProof | None:
        """The proof for what is to be decided; None when none of it needs one. Raises `PasskeyRefused`."""
        use = _use_for(visit.session, deciding)
        if use is None:
            return None
        if self.passkeys is None or not first(visit.posted, FIELD):
            raise PasskeyRefused("no passkey was used")
        return self.passkeys.finish_assertion(first(visit.posted, FIELD), use)


def why_refused(error: HandraiseError, posted: Posted, language: Language) -> str:
    """A sentence for the person; the reason in full is for the log."""
    if isinstance(error, SetupError):
        return language.sentence(str(error))
    return language("passkey_failed" if first(posted, FIELD) else "passkey_not_used")


def options(text: str) -> Response:
    """Options for the browser, as the library wrote them."""
    return Response(text, media_type="application/json")


def _use_for(session: DeskSession, deciding: Deciding) -> Use | None:
    """The answers that one touch covers: every accepted question that needs a passkey."""
    accepted = [
        (waiting, decision.answer.data)
        for waiting, decision in deciding
        if waiting.passkey and isinstance(decision.answer, Accepted) and lacks_passkey(waiting, decision)
    ]
    people: set[Person] = {waiting.person for waiting, _ in accepted}
    if len(people) != 1:
        return None
    answers = tuple((waiting.id, answer_digest(content)) for waiting, content in accepted)
    return Use("answer", session.cookie, people.pop(), answers=answers)


PATH = "passkey"
_MOST = 1000
"""Browsers whose progress is remembered."""
PasskeyListener = Callable[[str, str], None]
"""Told what happened on the page: "seen", "proven", "added", "removed" or "trouble", and the name of it."""


@dataclass(slots=True)
class _Progress:
    """How far one browser is."""

    passkey_task: PasskeyTask
    proven: bool = False
    done: bool = False


class PasskeyPage:
    """The page on which a person adds or removes a passkey, and the two steps of each of its buttons.

    A person who has one already uses it first. The attack: a program that runs as the person adds a passkey of its own,
    and then answers with it.
    """

    def __init__(
        self,
        passkeys: Passkeys,
        lookup: QuestionLookup,
        pages: DeskPages,
        *,
        enrols: bool,
        on_passkey: PasskeyListener | None = None,
    ) -> None:
        """`enrols`: who is signed in may add their first passkey without a link that is made for it."""
        self._passkeys = passkeys
        self._lookup = lookup
        self._pages = pages
        self._enrols = enrols
        self._tell = _ignore if on_passkey is None else on_passkey
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
        visit = await self._lookup.visit(request)
        self._tell("seen", "")
        return self._show(visit)

    async def _begin(self, request: Request) -> Response:
        session = (await self._lookup.visit(request)).session
        person, progress = self._of(session)
        if progress.done:
            return Response(status_code=409)
        use = _use_of(session, person, progress.passkey_task)
        try:
            if self._step(person, progress) == "add":
                return options(self._passkeys.begin_registration(use))
            return options(self._passkeys.begin_assertion(use))
        except SetupError:
            return Response(status_code=409)  # the page posts instead, and is told why

    async def _act(self, request: Request) -> Response:
        visit = await self._lookup.visit(request)
        person, progress = self._of(visit.session)
        if progress.done:
            return RedirectResponse(request.url.path, 303)
        try:
            self._take(visit, person, progress)
        except HandraiseError as error:
            logger.warning("a passkey was refused: %s", error)
            self._tell("trouble", "refused")
            return self._show(visit, 422, why_refused(error, visit.posted, visit.language))
        return RedirectResponse(request.url.path, 303)

    def _take(self, visit: DeskVisit, person: Person, progress: _Progress) -> None:
        given, step = first(visit.posted, FIELD), self._step(person, progress)
        use = _use_of(visit.session, person, progress.passkey_task)
        if step == "add":
            self._passkeys.finish_registration(given, use)
            progress.done = True
            self._tell("added", use.name)
            return
        self._passkeys.finish_assertion(given, use)
        if step == "remove":
            self._passkeys.remove(person, use.name)
            progress.done = True
            self._tell("removed", use.name)
        else:
            progress.proven = True
            self._tell("proven", "")

    async def _trouble(self, request: Request) -> Response:
        """The browser says why it did nothing. The command that waits at a terminal hears it."""
        visit = await self._lookup.visit(request)
        self._tell("trouble", first(visit.posted, "why")[:40])
        return Response(status_code=204)

    def _show(self, visit: DeskVisit, status: int = 200, note: str = "") -> Response:
        person, progress = self._of(visit.session)
        return self._pages.render(
            "passkey.html",
            status,
            visit,
            at=f"/{visit.session.place}/{PATH}",
            step="done" if progress.done else self._step(person, progress),
            passkey_task=progress.passkey_task,
            came_for_it=visit.session.passkey_task is not None,
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
    """Do nothing: the default if no listener wants to know what happens to a passkey."""


def _use_of(session: DeskSession, person: Person, passkey_task: PasskeyTask) -> Use:
    return Use(passkey_task.purpose, session.cookie, person, name=passkey_task.name)
