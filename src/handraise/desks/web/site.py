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

from handraise.access import REFUSALS, Access, AccessCheck
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
from handraise.desks.web.enrolling import PATH, Enrolling, Heard
from handraise.desks.web.events import stream
from handraise.desks.web.pages import Pages
from handraise.desks.web.reception import Reception, cookie_name
from handraise.desks.web.servers import Servers
from handraise.desks.web.sessions import Session, Sessions
from handraise.desks.web.sheets import Sheets
from handraise.desks.web.sign_in import LocalPrograms, SignIn
from handraise.desks.web.with_passkey import WithPasskey
from handraise.errors import HandraiseError
from handraise.site.rendering import StaticFiles


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
        passkeys: WithPasskey | None = None,
        heard: Heard | None = None,
    ) -> None:
        """`access` keeps out the wrong programs of this computer; None for a desk that is reached from elsewhere.

        `heard` is told what happens on the page for passkeys.
        """
        self._queue = queue
        self._sessions = sessions
        self._now = now
        self._code = code
        self._earlier = earlier
        self._began = now()
        self._pages = Pages(has_rules=gate is not None)
        self._files = StaticFiles("handraise.desks.web")
        self._reception = Reception(queue, sessions)
        self._closing = asyncio.Event()
        with_passkey = passkeys or WithPasskey(None, advice="")
        self._enrolling: Enrolling | None = None
        if with_passkey.passkeys is not None:
            self._enrolling = Enrolling(
                with_passkey.passkeys, self._reception, self._pages, enrols=with_passkey.enrols, heard=heard
            )
        sign_in = SignIn(
            sessions,
            self._pages,
            is_local=access is not None,
            desk_code=desk_code,
            passkeys=with_passkey.passkeys,
        )
        sheets = Sheets(queue, self._reception, self._pages, with_passkey, clock=clock, now=now)
        together = BatchSheets(self._reception, sheets, now=now)
        rules = [] if gate is None else Servers(gate, self._reception, self._pages, now=now).routes
        self.app = Starlette(
            routes=[
                Route("/", self._door),
                Route("/static/{name}", self._static),
                *sign_in.routes,
                Route("/{place}/", self._inbox),
                Route("/{place}/history", self._history),
                Route("/{place}/events", self._events),
                Route("/{place}/sign-out", self._sign_out, methods=["POST"]),
                *rules,
                *([] if self._enrolling is None else self._enrolling.routes),
                *Answering(queue, self._reception, sheets, with_passkey).routes,
                *BatchAnswering(queue, self._reception, sheets, together, with_passkey).routes,
            ],
            exception_handlers={HTTPException: self._refused},
            middleware=[] if access is None else [Middleware(LocalPrograms, access, self._no_access)],
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

    def _no_access(self, access: Access) -> Response:
        heading = "You cannot use this desk from here"
        return self._pages.render("note.html", 403, heading=heading, text=REFUSALS[access], refused=True)

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
        if self._enrolling is not None and self._enrolling.awaits(session):
            return RedirectResponse(f"/{session.place}/{PATH}", 303)
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


_HEADINGS = {403: "Please sign in", 404: "Nothing here", 413: "Too much", 405: "Not possible"}


def _not_found() -> Response:
    raise HTTPException(404, "There is no such file.")
