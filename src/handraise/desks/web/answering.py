"""Answering one question: four ways out, and nothing is decided but by a button that says so."""

from __future__ import annotations

import logging
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
from handraise.desks.web.sheets import DESK, Sheets, as_sent, flag_alone, form_of, mark
from handraise.desks.web.with_passkey import WithPasskey, why_refused
from handraise.errors import HandraiseError
from handraise.questions import Accepted, Cancelled, Declined
from handraise.site.posted import Posted, first

logger = logging.getLogger(__name__)

TOO_SOON = "That came before you can have read this, so nothing was sent. Look again, then choose."
CHANGED = "The answers were changed in another window. This is what would be sent now."
NO_BLOCK = "Choose for how long the server is to be blocked."
DANGER = "This link is dangerous and cannot be opened from here."
NOT_MEANT = "Nothing was sent. Say below that it is meant to leave, or go back."


class Answering:
    """Takes what a person does with one question."""

    def __init__(self, queue: Queue, reception: Reception, sheets: Sheets, with_passkey: WithPasskey) -> None:
        self._queue = queue
        self._reception = reception
        self._sheets = sheets
        self._with_passkey = with_passkey
        self.routes = [
            Route("/{place}/q/{handle}", self._question),
            Route("/{place}/q/{handle}", self._act, methods=["POST"]),
            Route("/{place}/q/{handle}/review", self._review),
            Route("/{place}/q/{handle}/draft", self._keep, methods=["POST"]),
            Route("/{place}/q/{handle}/passkey", self._ask_for_passkey, methods=["POST"]),
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

    async def _ask_for_passkey(self, request: Request) -> Response:
        """What the browser asks the passkey for: exactly what would be sent now."""
        session = self._reception.session(request)
        posted = await self._reception.posted(request, session)
        found = self._reception.find(session, request.path_params["handle"])
        if isinstance(found, Ended):
            return Response(status_code=409)
        form, filled = form_of(found), self._filled(found)
        if (flag := flag_alone(found)) is not None and first(posted, "do") == "yes":
            return self._with_passkey.begin(session, [(found, Decision(Accepted({flag: True})))])
        if form is not None and form.fields:
            if (
                filled is None
                or not may_leave(filled)
                or first(posted, "seen") != mark(as_sent(filled.content))
            ):
                return Response(status_code=409)
            return self._with_passkey.begin(session, [(found, Decision(Accepted(filled.content)))])
        return self._with_passkey.begin(session, [(found, Decision(Accepted(None if form is None else {})))])

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
            case "accept" | "yes":
                return self._accept(session, found, posted)
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
        try:
            proof = self._with_passkey.prove(session, [(waiting, decision)], posted)
        except HandraiseError as error:
            logger.warning("a passkey was refused: %s", error)
            return self._sheets.review(session, waiting, filled, 422, note=why_refused(error, posted))
        return self._decide(session, waiting, replace(decision, passkey=proof))

    def _accept(self, session: Session, waiting: Waiting, posted: Posted) -> Response:
        """Accept what has nothing to review: a link, a form without fields, or a yes that a passkey says."""
        form, link, flag = form_of(waiting), link_of(waiting), flag_alone(waiting)
        if form is not None and form.fields and flag is None:
            return self._check(session, waiting)
        if form is None and (link is None or not link.may_be_opened):
            return self._sheets.ask(session, waiting, 403, note=DANGER)
        if self._sheets.is_fresh(waiting):
            return self._sheets.ask(session, waiting, 409, note=TOO_SOON)
        content = None if form is None else {} if flag is None else {flag: True}
        decision: Decision = Decision(Accepted(content))
        try:
            proof = self._with_passkey.prove(session, [(waiting, decision)], posted)
        except HandraiseError as error:
            logger.warning("a passkey was refused: %s", error)
            return self._sheets.ask(session, waiting, 422, note=why_refused(error, posted))
        return self._decide(session, waiting, replace(decision, passkey=proof))

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
            case "needs passkey":
                return self._sheets.ask(session, waiting, 422, note=self._queue.needs_passkey)
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
