"""The web desk and its site: what waits, what was decided, and news while a page is open."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from handraise.access import REFUSALS, Access, AccessCheck
from handraise.desks.codes import AnswerCode, DeskCodeCheck
from handraise.desks.control import require_private, runtime_directory
from handraise.desks.endings import Earlier
from handraise.desks.gate import PolicyGate
from handraise.desks.language import Language
from handraise.desks.passkeys import LOCAL, PasskeyFile, Passkeys, PasskeyStore
from handraise.desks.present import present
from handraise.desks.queue import Queue
from handraise.desks.waiting import Waiting, batches
from handraise.desks.web.answering import Answering
from handraise.desks.web.pages import DeskPages, QuestionPages
from handraise.desks.web.passkeys import PATH, PasskeyAnswers, PasskeyListener, PasskeyPage
from handraise.desks.web.servers import ServersPage
from handraise.desks.web.sessions import (
    DeskSession,
    DeskSessions,
    DeskVisit,
    PasskeyTask,
    QuestionLookup,
    cookie_name,
    language_of,
    page_with_link,
)
from handraise.desks.web.sign_in import LocalPrograms, SignIn
from handraise.disk import create_file
from handraise.errors import HandraiseError, SetupError
from handraise.questions import Person
from handraise.site.listener import Listener
from handraise.site.middleware import SameSiteMiddleware
from handraise.site.rendering import StaticFiles


class Site:
    """Everything a browser can ask for, once it is past the gate."""

    def __init__(
        self,
        queue: Queue,
        sessions: DeskSessions,
        *,
        gate: PolicyGate | None = None,
        code: AnswerCode | None = None,
        earlier: Earlier | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        access: AccessCheck | None = None,
        desk_code: DeskCodeCheck | None = None,
        passkeys: PasskeyAnswers | None = None,
        on_passkey: PasskeyListener | None = None,
    ) -> None:
        """`access` keeps out the wrong programs of this computer; None for a desk that is reached from elsewhere.

        `on_passkey` is told what happens on the page for passkeys.
        """
        self._queue = queue
        self._sessions = sessions
        self._now = now
        self._code = code
        self._earlier = earlier
        self._began = now()
        self._files = StaticFiles("handraise.desks.web")
        self._lookup = QuestionLookup(queue, sessions)
        self._pages = DeskPages(self._lookup, has_rules=gate is not None)
        self._closing = asyncio.Event()
        self._following: Counter[str] = Counter()
        """How many streams of news each person has open."""
        passkey_answers = passkeys or PasskeyAnswers(None, advice="")
        self._passkey_page: PasskeyPage | None = None
        if passkey_answers.passkeys is not None:
            self._passkey_page = PasskeyPage(
                passkey_answers.passkeys,
                self._lookup,
                self._pages,
                enrols=passkey_answers.enrols,
                on_passkey=on_passkey,
            )
        sign_in = SignIn(
            sessions,
            self._lookup,
            self._pages,
            is_local=access is not None,
            desk_code=desk_code,
            passkeys=passkey_answers.passkeys,
        )
        self._questions = QuestionPages(
            queue, self._lookup, self._pages, passkey_answers, clock=clock, now=now
        )
        rules = [] if gate is None else ServersPage(gate, self._lookup, self._pages, now=now).routes
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
                *([] if self._passkey_page is None else self._passkey_page.routes),
                *Answering(queue, self._lookup, self._questions, passkey_answers).routes,
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

    def _no_access(self, access: Access, language: Language) -> Response:
        text = language.sentence(REFUSALS[access])
        heading = language("not_from_here")
        return self._pages.render("note.html", 403, language, heading=heading, text=text, refused=True)

    async def _sign_out(self, request: Request) -> Response:
        visit = await self._lookup.visit(request)
        self._sessions.end(visit.session)
        language = visit.language
        heading, text = language("signed_out"), language("signed_out_lead")
        response = self._pages.render("note.html", 200, language, heading=heading, text=text, refused=True)
        response.delete_cookie(cookie_name(request), path="/", secure=True, httponly=True, samesite="strict")
        return response

    async def _inbox(self, request: Request) -> Response:
        visit = await self._lookup.visit(request)
        session, language = visit.session, visit.language
        if self._passkey_page is not None and self._passkey_page.awaits(session):
            return RedirectResponse(f"/{session.place}/{PATH}", 303)
        cards = [
            {
                "handle": self._lookup.batch_handle(batch[0]),
                "cards": [self._card(one, language) for one in batch],
            }
            for batch in batches(self._lookup.waiting(session))
        ]
        code = None if self._code is None else self._code.shown()
        return self._pages.render("inbox.html", 200, visit, batches=cards, code=code)

    def _card(self, waiting: Waiting, language: Language) -> dict[str, object]:
        return {
            "handle": self._lookup.handle(waiting),
            "shown": present(waiting, language),
            "started": bool(self._queue.draft(waiting.id)),
            "left": None if waiting.deadline is None else language.left(waiting.deadline - self._now()),
        }

    async def _history(self, request: Request) -> Response:
        visit = await self._lookup.visit(request)
        past = [self._questions.past(ended, visit.language) for ended in self._lookup.past(visit.session)]
        earlier, unreadable = await self._before(visit)
        return self._pages.render(
            "history.html", 200, visit, past=past, earlier=earlier, unreadable=unreadable
        )

    async def _before(self, visit: DeskVisit) -> tuple[list[dict[str, object]], bool]:
        """Decisions before this run, and whether reading them failed."""
        if self._earlier is None:
            return [], False
        try:
            found = await self._earlier(visit.session.person, self._began)
        except HandraiseError:
            return [], True
        told = [
            {
                "one": one,
                "sentence": visit.language.sentence(one.sentence),
                "when": visit.language.ago(self._now() - one.at),
            }
            for one in found
        ]
        return told, False

    async def _events(self, request: Request) -> Response:
        session = self._lookup.session(request)
        who = session.cookie if session.person is None else session.person.key
        if self._following[who] >= _MOST_STREAMS:
            return Response(status_code=204)  # tells a browser not to try again
        return StreamingResponse(self._news(session, who), media_type="text/event-stream")

    async def _news(self, session: DeskSession, who: str) -> AsyncIterator[str]:
        """An event with the names of all that waits, now and at every change, until the desk closes or they sign out.

        It carries names only; a page that wants to show more loads it as a page.
        """
        self._following[who] += 1
        try:
            async with aclosing(_changes(self._queue, self._closing)) as changes:
                async for changed in changes:
                    if self._sessions.find(session.cookie, session.place) is None:
                        return
                    here = [self._lookup.handle(one) for one in self._lookup.waiting(session)]
                    yield f"event: waiting\ndata: {json.dumps(here)}\n\n" if changed else ": still here\n\n"
        finally:
            self._following[who] -= 1
            self._following += Counter()  # removes zero counts

    async def _refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        language = language_of(request)
        seen_by: DeskVisit | Language = language
        if "place" in request.path_params and error.status_code != 403:
            seen_by = DeskVisit(self._lookup.session(request), language, {})
        heading = language(_HEADINGS.get(error.status_code, "did_not_work"))
        text = language.sentence(error.detail)
        return self._pages.render(
            "note.html", error.status_code, seen_by, count=None, heading=heading, text=text
        )


_HEADINGS: Final = {403: "please_sign_in", 404: "question_gone", 413: "too_much", 405: "not_possible"}
_MOST_STREAMS: Final = 30
"""Open streams of one person. The attack: at a shared desk, one person's streams leave no requests for others."""
_HEARTBEAT: Final = 15.0
"""Seconds without news after which a page is told that the desk is still here, so that a lost browser is noticed."""


async def _changes(queue: Queue, closing: asyncio.Event) -> AsyncGenerator[bool, None]:
    """True at every change of what waits, False for a heartbeat, until the desk closes."""
    changes = queue.changes()
    following = asyncio.ensure_future(anext(changes))
    closed = asyncio.ensure_future(closing.wait())
    try:
        while True:
            done, _ = await asyncio.wait(
                {following, closed}, timeout=_HEARTBEAT, return_when=asyncio.FIRST_COMPLETED
            )
            if closed in done:
                return
            yield following in done
            if following in done:
                following = asyncio.ensure_future(anext(changes))
    finally:
        closed.cancel()
        following.cancel()
        await asyncio.wait({following, closed})
        await changes.aclose()


def _not_found() -> Response:
    raise HTTPException(404, "There is no such file.")


ADD_FIRST: Final = (
    "You have no passkey yet, so this question waits. Run `handraise desk passkey add` in a terminal of your own, then "
    "reload this page."
)


class WebDesk:
    """Serves a queue's questions to a browser on this computer.

        async with WebDesk(queue) as desk:
            link = desk.sign_in_url()

    The desk lets people in only with such a link. This method returns the link and never prints it. The caller shows
    it, and must not print it where a model reads the output.
    """

    def __init__(
        self,
        queue: Queue,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        clock: Callable[[], float] = time.monotonic,
        gate: PolicyGate | None = None,
        code: AnswerCode | None = None,
        earlier: Earlier | None = None,
        now: Callable[[], float] = time.time,
        access: AccessCheck | None = None,
        desk_code: DeskCodeCheck | None = None,
        passkeys: PasskeyStore | None = None,
        on_passkey: PasskeyListener | None = None,
    ) -> None:
        """`port` 0 takes a free one. `clock` measures, `now` tells the time of day.

        With a `gate` the desk has a page for servers and rules; with a `code` it says how to answer from a terminal;
        with `earlier` its history goes back to before this run. `access` knows which programs of this computer are
        kept out; without one, those of other users. `desk_code` lets a person in where the system does not tell.
        Where the gate's policy wants passkeys, or with a place where `passkeys` are kept, the desk is at
        http://localhost; `on_passkey` is told how a person gets on who adds one.
        """
        file = passkeys or PasskeyFile()
        wanted = bool(gate is not None and gate.policy.settings.desk.passkey) or _has_any(file)
        self._listener = Listener("The web desk", host, port, as_localhost=wanted or passkeys is not None)
        kept = Passkeys(
            file,
            rp_id=LOCAL,
            origin=lambda: f"http://{LOCAL}:{self.port}",
            clock=clock,
            now=now,
        )
        self._sessions = DeskSessions(clock)
        self._site = Site(
            queue,
            self._sessions,
            gate=gate,
            code=code,
            earlier=earlier,
            clock=clock,
            now=now,
            access=access or AccessCheck(),
            desk_code=desk_code or DeskCodeCheck(read_once=access is not None),
            passkeys=PasskeyAnswers(kept, advice=ADD_FIRST),
            on_passkey=on_passkey,
        )
        self.app = SameSiteMiddleware(self._site.app, lambda: self.hosts)
        """The ASGI application, as it is served."""

    @property
    def port(self) -> int:
        """The port: the one that was asked for, or the one that was taken at the start."""
        return self._listener.port

    @property
    def hosts(self) -> frozenset[str]:
        """The names under which the desk answers; under any other it does not, whatever it resolves to."""
        return self._listener.hosts

    def sign_in_url(self, person: Person | None = None, passkey_task: PasskeyTask | None = None) -> str:
        """A link that signs one browser in, once, within ten minutes. With `person`, to their questions only.

        With a `passkey_task` it leads to the page on which they add a passkey, or remove one.
        """
        return self._sign_in_link(self._sessions.invite(person, passkey_task))

    def sign_in_file(
        self,
        person: Person | None = None,
        passkey_task: PasskeyTask | None = None,
        question: str | None = None,
    ) -> Path:
        """A private file that leads one browser to its sign-in page, and from there to the question with this id.

        A browser is opened with it, and not with the link: everybody can see the arguments of a program.
        """
        ticket = self._sessions.invite(person, passkey_task, question)
        file = _place_for_browsers() / f"handraise-desk-{secrets.token_hex(8)}.html"
        create_file(file, page_with_link(self._sign_in_link(ticket)))
        self._sessions.keep_file(ticket, file)
        return file

    def _sign_in_link(self, ticket: str) -> str:
        return f"{self._listener.base_url}/sign-in/{ticket}"

    async def start(self) -> None:
        """Listen. Returns when the desk can be reached."""
        await self._listener.start(self.app)
        self._site.open()

    async def stop(self) -> None:
        """Stop listening and end what is open. The questions stay in the queue."""
        self._site.close()
        self._sessions.withdraw_tickets()
        await self._listener.stop()

    async def run(self) -> None:
        """Serve until cancelled, as every desk does. Who needs the address uses `async with`."""
        async with self:
            await asyncio.Event().wait()

    async def __aenter__(self) -> WebDesk:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


def _has_any(passkeys: PasskeyStore) -> bool:
    try:
        return bool(passkeys.all())
    except SetupError:  # the page that wants one says what is wrong
        return False


def _place_for_browsers() -> Path:
    """A directory where the person's browser can read a file that nobody else can.

    A browser in a snap reads nothing in hidden directories, but what lies openly in the person's home.
    """
    if Path("/snap").is_dir():
        return Path.home()
    directory = runtime_directory(os.environ)
    require_private(directory)
    return directory
