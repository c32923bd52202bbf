"""Answering one question: four ways out, and nothing is decided but by a button that says so."""

from __future__ import annotations

from dataclasses import replace

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from handraise.desks.fill import Filled, edited, fill
from handraise.desks.queue import Queue
from handraise.desks.review import may_leave
from handraise.desks.sheet import link_of
from handraise.desks.waiting import Decision, Waiting
from handraise.desks.web.posted import read_entries
from handraise.desks.web.reception import Ended, Reception
from handraise.desks.web.sessions import Session
from handraise.desks.web.sheets import DESK, Sheets, as_sent, form_of, mark
from handraise.questions import Accepted, Cancelled, Declined
from handraise.site.posted import Posted, first

TOO_SOON = "That came before you can have read this, so nothing was sent. Look again, then choose."
CHANGED = "The answers were changed in another window. This is what would be sent now."
NO_BLOCK = "Choose for how long the server is to be blocked."
DANGER = "This link is dangerous and cannot be opened from here."
NOT_MEANT = "Nothing was sent. Say below that it is meant to leave, or go back."


class Answering:
    """Takes what a person does with one question."""

    def __init__(self, queue: Queue, reception: Reception, sheets: Sheets) -> None:
        self._queue = queue
        self._reception = reception
        self._sheets = sheets
        self.routes = [
            Route("/{place}/q/{handle}", self._question),
            Route("/{place}/q/{handle}", self._act, methods=["POST"]),
            Route("/{place}/q/{handle}/review", self._review),
            Route("/{place}/q/{handle}/draft", self._keep, methods=["POST"]),
        ]

    async def _question(self, request: Request) -> Response:
        session = self._reception.session(request)
        found = self._reception.find(session, request.path_params["handle"])
        if isinstance(found, Ended):
            return self._sheets.over(session, found)
        if len(self._reception.batch(session, found)) > 1:
            return RedirectResponse(f"/{session.place}/b/{self._reception.batch_handle(found)}", 303)
        return self._sheets.ask(session, found)

    async def _review(self, request: Request) -> Response:
        session = self._reception.session(request)
        found = self._reception.find(session, request.path_params["handle"])
        if isinstance(found, Ended):
            return self._sheets.over(session, found)
        filled = self._filled(found)
        if filled is None or not may_leave(filled):
            return self._to(session, found)
        return self._sheets.review(session, found, filled)

    async def _keep(self, request: Request) -> Response:
        """Keep a draft that a page saves by itself."""
        session = self._reception.session(request)
        posted = await self._reception.posted(request, session)
        found = self._reception.find(session, request.path_params["handle"])
        if isinstance(found, Ended):
            return Response(status_code=410)
        self._keep_draft(found, posted)
        return Response(status_code=204)

    async def _act(self, request: Request) -> Response:
        session = self._reception.session(request)
        posted = await self._reception.posted(request, session)
        found = self._reception.find(session, request.path_params["handle"])
        if isinstance(found, Ended):
            return self._sheets.over(session, found, 409)
        self._keep_draft(found, posted)
        match first(posted, "do"):
            case "review":
                return self._check(session, found)
            case "send":
                return self._send(session, found, posted)
            case "accept":
                return self._accept(session, found)
            case "decline":
                return self._decide(session, found, Decision(Declined()))
            case "cancel":
                return self._decide(session, found, Decision(Cancelled()))
            case "block":
                return self._block(session, found, first(posted, "block"))
            case _:
                raise HTTPException(400, "No button was pressed.")

    def _check(self, session: Session, waiting: Waiting) -> Response:
        filled = self._filled(waiting)
        if filled is not None and not may_leave(filled):
            return self._sheets.ask(session, waiting, 422, filled=filled)
        return self._to(session, waiting, "/review")

    def _send(self, session: Session, waiting: Waiting, posted: Posted) -> Response:
        """Send exactly what the review showed, and nothing that came in between."""
        form, filled = form_of(waiting), self._filled(waiting)
        if form is None or filled is None or not may_leave(filled):
            return self._check(session, waiting)
        if first(posted, "seen") != mark(as_sent(filled.content)):
            return self._sheets.review(session, waiting, filled, 409, note=CHANGED)
        if filled.secrets and first(posted, "anyway") != "yes":
            return self._sheets.review(session, waiting, filled, 422, note=NOT_MEANT)
        decision = Decision(Accepted(filled.content), edited=edited(form, filled.content))
        if self._sheets.is_fresh(waiting):
            return self._sheets.review(session, waiting, filled, 409, note=TOO_SOON)
        return self._decide(session, waiting, decision)

    def _accept(self, session: Session, waiting: Waiting) -> Response:
        """Accept what has nothing to review: a link, or a form without fields."""
        form, link = form_of(waiting), link_of(waiting)
        if form is not None and form.fields:
            return self._check(session, waiting)
        if form is None and (link is None or not link.may_be_opened):
            return self._sheets.ask(session, waiting, 403, note=DANGER)
        if self._sheets.is_fresh(waiting):
            return self._sheets.ask(session, waiting, 409, note=TOO_SOON)
        return self._decide(session, waiting, Decision(Accepted(None if form is None else {})))

    def _block(self, session: Session, waiting: Waiting, how_long: str) -> Response:
        match how_long:
            case "session" | "always":
                return self._decide(session, waiting, Decision(Declined(), block=how_long))
            case _:
                return self._sheets.ask(session, waiting, 422, block_note=NO_BLOCK)

    def _decide(self, session: Session, waiting: Waiting, decision: Decision) -> Response:
        match self._queue.decide(waiting.id, replace(decision, desk=DESK)):
            case "too soon":
                return self._sheets.ask(session, waiting, 409, note=TOO_SOON)
            case "too late":
                found = self._reception.find(session, self._reception.handle(waiting))
                assert isinstance(found, Ended)
                return self._sheets.over(session, found, 409)
            case "taken":
                return self._to(session, waiting)

    def _filled(self, waiting: Waiting) -> Filled | None:
        form = form_of(waiting)
        return None if form is None else fill(form, self._sheets.entries(waiting, form))

    def _keep_draft(self, waiting: Waiting, posted: Posted) -> None:
        form = form_of(waiting)
        if form is not None and first(posted, "fields") == "here":
            self._queue.keep_draft(waiting.id, read_entries(form, posted))

    def _to(self, session: Session, waiting: Waiting, page: str = "") -> Response:
        return RedirectResponse(f"/{session.place}/q/{self._reception.handle(waiting)}{page}", 303)
