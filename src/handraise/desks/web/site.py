"""The desk's site: signing in, what waits, what was decided, and news while a page is open."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from handraise.desks.access import REFUSALS, Access, AccessCheck
from handraise.desks.batch import batches
from handraise.desks.counter import Code
from handraise.desks.desk_code import DeskCodeCheck
from handraise.desks.gate import PolicyGate
from handraise.desks.past import Earlier
from handraise.desks.queue import Queue
from handraise.desks.sheet import lay_out
from handraise.desks.telling import ago, left, tell
from handraise.desks.waiting import Waiting
from handraise.desks.web.answering import Answering
from handraise.desks.web.batch_answering import BatchAnswering
from handraise.desks.web.batch_sheets import BatchSheets
from handraise.desks.web.events import stream
from handraise.desks.web.pages import Pages
from handraise.desks.web.reception import Reception, cookie_name
from handraise.desks.web.servers import Servers
from handraise.desks.web.sessions import Session, Sessions
from handraise.desks.web.sheets import Sheets
from handraise.errors import HandraiseError
from handraise.site.posted import first, read_posted
from handraise.site.rendering import StaticFiles

_ACCESS = "handraise.access"
"""The member of a request's scope that holds what is known of the program at its other end."""


class Site:
    """Everything a browser can ask for, once it is past the gate."""

    def __init__(
        self,
        queue: Queue,
        sessions: Sessions,
        *,
        gate: PolicyGate | None = None,
        code: Code | None = None,
        earlier: Earlier | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        access: AccessCheck | None = None,
        desk_code: DeskCodeCheck | None = None,
    ) -> None:
        """`access` keeps out the wrong programs of this computer; None for a desk that is reached from elsewhere."""
        self._queue = queue
        self._access = access
        self._desk_code = desk_code
        self._sessions = sessions
        self._now = now
        self._code = code
        self._earlier = earlier
        self._began = now()
        self._pages = Pages(has_rules=gate is not None)
        self._files = StaticFiles("handraise.desks.web")
        self._reception = Reception(queue, sessions)
        self._closing = asyncio.Event()
        sheets = Sheets(queue, self._reception, self._pages, clock=clock, now=now)
        together = BatchSheets(self._reception, sheets, now=now)
        rules = [] if gate is None else Servers(gate, self._reception, self._pages, now=now).routes
        self.app = Starlette(
            routes=[
                Route("/", self._door),
                Route("/static/{name}", self._static),
                Route("/sign-in/{ticket}", self._sign_in_page),
                Route("/sign-in/{ticket}", self._sign_in, methods=["POST"]),
                Route("/{place}/", self._inbox),
                Route("/{place}/history", self._history),
                Route("/{place}/events", self._events),
                Route("/{place}/sign-out", self._sign_out, methods=["POST"]),
                *rules,
                *Answering(queue, self._reception, sheets).routes,
                *BatchAnswering(queue, self._reception, sheets, together).routes,
            ],
            exception_handlers={HTTPException: self._refused},
            middleware=[] if access is None else [Middleware(_LocalPrograms, access, self._no_access)],
        )
        self.app.router.redirect_slashes = False

    def open(self) -> None:
        """Let pages stay open for news."""
        self._closing.clear()

    def close(self) -> None:
        """End every stream of news, so that the server can stop."""
        self._closing.set()

    async def _door(self, request: Request) -> Response:
        raise HTTPException(403, "You are not signed in here.")

    async def _static(self, request: Request) -> Response:
        return self._files.get(request.path_params["name"]) or _not_found()

    async def _sign_in_page(self, request: Request) -> Response:
        """A page with one button. Looking at the link, as previews do, does not use it up."""
        if not self._sessions.is_open(request.path_params["ticket"]):
            return self._used_up()
        return await self._ask_to_sign_in(request)

    async def _sign_in(self, request: Request) -> Response:
        posted = await read_posted(request)
        if self._needs_code(request):
            if not self._sessions.is_open(request.path_params["ticket"]):
                return self._used_up()
            typed = first(posted, "code")
            if not typed or not await asyncio.to_thread(self._accepts_code, typed):
                return await self._ask_to_sign_in(request, wrong=bool(typed))
        session = self._sessions.admit(request.path_params["ticket"])
        if session is None:
            return self._used_up()
        response = RedirectResponse(f"/{session.place}/", 303)
        response.set_cookie(
            cookie_name(request), session.cookie, path="/", secure=True, httponly=True, samesite="strict"
        )
        return response

    async def _ask_to_sign_in(self, request: Request, *, wrong: bool = False) -> Response:
        if not self._needs_code(request):
            return self._pages.render("sign_in.html", way="plain", wrong=False)
        if not await asyncio.to_thread(self._has_code):
            return self._pages.render("sign_in.html", 403, way="no code", wrong=False)
        return self._pages.render("sign_in.html", 403 if wrong else 200, way="code", wrong=wrong)

    def _needs_code(self, request: Request) -> bool:
        return self._access is not None and request.scope.get(_ACCESS) != "own"

    def _has_code(self) -> bool:
        return self._desk_code is not None and self._desk_code.load() is not None

    def _accepts_code(self, typed: str) -> bool:
        return self._desk_code is not None and self._desk_code.accepts(typed)

    def _no_access(self, access: Access) -> Response:
        heading = "You cannot use this desk from here"
        return self._pages.render("note.html", 403, heading=heading, text=REFUSALS[access], refused=True)

    def _used_up(self) -> Response:
        text = "This sign-in link was used already or has run out. Each works once, for ten minutes."
        return self._pages.render("note.html", 403, heading="This link does not work any more", text=text)

    async def _sign_out(self, request: Request) -> Response:
        session = self._reception.session(request)
        await self._reception.posted(request, session)
        self._sessions.end(session)
        response = self._pages.render(
            "note.html", heading="Signed out", text="Your questions keep waiting. You can close this tab."
        )
        response.delete_cookie(cookie_name(request), path="/", secure=True, httponly=True, samesite="strict")
        return response

    async def _inbox(self, request: Request) -> Response:
        session = self._reception.session(request)
        waiting = self._reception.waiting(session)
        cards = [
            {"handle": self._reception.batch_handle(batch[0]), "cards": [self._card(one) for one in batch]}
            for batch in batches(waiting)
        ]
        code = None if self._code is None else self._code.shown()
        return self._pages.render("inbox.html", session=session, count=len(waiting), batches=cards, code=code)

    def _card(self, waiting: Waiting) -> dict[str, object]:
        return {
            "handle": self._reception.handle(waiting),
            "sheet": lay_out(waiting),
            "started": bool(self._queue.draft(waiting.id)),
            "left": None if waiting.deadline is None else left(waiting.deadline - self._now()),
        }

    async def _history(self, request: Request) -> Response:
        session = self._reception.session(request)
        past = [
            {
                "handle": self._reception.handle(e.waiting),
                "sheet": lay_out(e.waiting),
                "ending": tell(e.decision, self._now(), browsing=e.waiting.browsing),
            }
            for e in self._reception.past(session)
        ]
        count = len(self._reception.waiting(session))
        earlier, unreadable = await self._before(session)
        return self._pages.render(
            "history.html", session=session, count=count, past=past, earlier=earlier, unreadable=unreadable
        )

    async def _before(self, session: Session) -> tuple[list[dict[str, object]], bool]:
        """What was decided before this run, and whether that cannot be read."""
        if self._earlier is None:
            return [], False
        try:
            found = await self._earlier(session.person, self._began)
        except HandraiseError:
            return [], True
        return [{"one": one, "when": ago(self._now() - one.at)} for one in found], False

    async def _events(self, request: Request) -> Response:
        session = self._reception.session(request)

        def handles(waiting: Iterable[Waiting]) -> list[str]:
            return [self._reception.handle(one) for one in self._reception.waiting(session)]

        return StreamingResponse(stream(self._queue, handles, self._closing), media_type="text/event-stream")

    async def _refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        session: Session | None = None
        if "place" in request.path_params and error.status_code != 403:
            session = self._reception.session(request)
        heading = _HEADINGS.get(error.status_code, "This did not work")
        return self._pages.render(
            "note.html", error.status_code, session=session, count=None, heading=heading, text=error.detail
        )


class _LocalPrograms:
    """Looks at the program behind each request, and lets none in that is another user's or the client's."""

    def __init__(self, app: ASGIApp, access: AccessCheck, refuse: Callable[[Access], Response]) -> None:
        self._app = app
        self._access = access
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ends = scope.get("client"), scope.get("server")
        known: Access = "unknown"
        if ends[0] is not None and ends[1] is not None:
            known = await asyncio.to_thread(self._access.of_connection, tuple(ends[0]), tuple(ends[1]))
        app = self._refuse(known) if known in ("another_user", "client") else self._app
        await app({**scope, _ACCESS: known}, receive, send)


_HEADINGS = {403: "Please sign in", 404: "Nothing here", 413: "Too much", 405: "Not possible"}


def _not_found() -> Response:
    raise HTTPException(404, "There is no such file.")
