"""Signing in at the web desk: which programs reach it at all, and how a browser shows whose it is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from handraise.access import Access, AccessCheck
from handraise.desks.codes import DeskCodeCheck
from handraise.desks.language import Language
from handraise.desks.passkeys import Passkeys, Use
from handraise.desks.queue import ARMED_AFTER
from handraise.desks.web.pages import DeskPages
from handraise.desks.web.passkeys import FIELD, options, why_refused
from handraise.desks.web.sessions import ACCESS, DeskSessions, QuestionLookup, cookie_name, language_of
from handraise.errors import HandraiseError, SetupError
from handraise.site.middleware import Posted, first, read_posted
from handraise.this_user import local_person

logger = logging.getLogger(__name__)


class LocalPrograms:
    """Looks at the program behind each request, and lets none in that is another user's or the client's."""

    def __init__(
        self, app: ASGIApp, access: AccessCheck, refuse: Callable[[Access, Language], Response]
    ) -> None:
        self._app = app
        self._access = access
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ends = scope.get("client"), scope.get("server")
        known: Access = "unknown"
        if ends[0] is not None and ends[1] is not None:
            known = await asyncio.to_thread(self._access.of_connection, tuple(ends[0]), tuple(ends[1]))
        app = self._app
        if known in ("another_user", "client"):
            app = self._refuse(known, language_of(Request(scope)))
        await app({**scope, ACCESS: known}, receive, send)


class SignIn:
    """The page with one button that a sign-in link leads to.

    Where the system does not tell whose a browser is, the person proves it: with their desk code or a passkey.
    """

    def __init__(
        self,
        sessions: DeskSessions,
        lookup: QuestionLookup,
        pages: DeskPages,
        *,
        is_local: bool,
        desk_code: DeskCodeCheck | None = None,
        passkeys: Passkeys | None = None,
    ) -> None:
        """`is_local`: the desk serves this computer, so that the system may tell whose a browser is."""
        self._sessions = sessions
        self._lookup = lookup
        self._pages = pages
        self._is_local = is_local
        self._desk_code = desk_code
        self._passkeys = passkeys
        self.routes = [
            Route("/sign-in/{ticket}", self._page),
            Route("/sign-in/{ticket}", self._enter, methods=["POST"]),
            Route("/sign-in/{ticket}/passkey", self._begin_passkey, methods=["POST"]),
        ]

    async def _page(self, request: Request) -> Response:
        """Looking at the link, as previews do, does not use it up."""
        return await self._show(request)

    async def _enter(self, request: Request) -> Response:
        posted = await read_posted(request)
        if needs_proof := self._needs_proof(request):
            if not self._sessions.is_open(_ticket(request)):
                return self._used_up(language_of(request))
            problem = await asyncio.to_thread(self._check_proof, request, posted)
            if problem is not None:
                return await self._show(request, problem)
        session = self._sessions.admit(_ticket(request), proven=needs_proof)
        if session is None:
            return self._used_up(language_of(request))
        response = RedirectResponse(self._lookup.landing(session), 303)
        response.set_cookie(
            cookie_name(request), session.cookie, path="/", secure=True, httponly=True, samesite="strict"
        )
        return response

    async def _begin_passkey(self, request: Request) -> Response:
        if self._sessions.is_open(_ticket(request)) and await asyncio.to_thread(self._has_passkey):
            assert self._passkeys is not None
            return options(self._passkeys.begin_assertion(_use(request)))
        return Response(status_code=409)

    def _needs_proof(self, request: Request) -> bool:
        return self._is_local and request.scope.get(ACCESS) != "own"

    def _check_proof(self, request: Request, posted: Posted) -> str | None:
        """Why the person is not let in; None when they proved who they are, empty when they have not tried yet."""
        language = language_of(request)
        try:
            if given := first(posted, FIELD):
                if self._passkeys is None:
                    return ""
                self._passkeys.finish_assertion(given, _use(request))
                return None
            if typed := first(posted, "code"):
                is_right = self._desk_code is not None and self._desk_code.accepts(typed)
                return None if is_right else language("wrong_code")
        except HandraiseError as error:
            logger.warning("a sign-in was refused: %s", error)
            return why_refused(error, posted, language)
        return ""

    def _has_passkey(self) -> bool:
        try:
            return (
                self._passkeys is not None
                and self._passkeys.available
                and bool(self._passkeys.of(local_person()))
            )
        except SetupError:
            return False

    def _has_code(self) -> bool:
        try:
            return self._desk_code is not None and self._desk_code.load() is not None
        except SetupError:
            return False

    async def _show(self, request: Request, problem: str = "") -> Response:
        if not self._sessions.is_open(_ticket(request)):
            return self._used_up(language_of(request))
        needed = self._needs_proof(request)
        code, passkey = False, False
        if needed:
            code = await asyncio.to_thread(self._has_code)
            passkey = await asyncio.to_thread(self._has_passkey)
        refused = problem or (needed and not code and not passkey)
        return self._pages.render(
            "sign_in.html",
            403 if refused else 200,
            language_of(request),
            at=request.url.path,
            needs_proof=needed,
            code=code,
            passkey=passkey,
            owner=self._owner(request),
            problem=problem,
            armed_after=round(ARMED_AFTER * 1000),
        )

    def _owner(self, request: Request) -> str:
        """Whose desk it is, at a desk that several people share.

        The attack: somebody sends their own link to another person, who then answers their questions.
        """
        person = self._sessions.invited(_ticket(request))
        return "" if self._is_local or person is None else person.subject

    def _used_up(self, language: Language) -> Response:
        heading, text = language("link_over"), language("link_over_why")
        return self._pages.render("note.html", 403, language, heading=heading, text=text)


def _ticket(request: Request) -> str:
    return str(request.path_params["ticket"])


def _use(request: Request) -> Use:
    return Use("sign in", _ticket(request), local_person())
