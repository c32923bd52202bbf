"""Answering a batch: one review and one button for all its forms, or each question by itself."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from handraise.desks.fill import Filled, edited
from handraise.desks.queue import Queue
from handraise.desks.sheet import link_of
from handraise.desks.waiting import Decision, Waiting
from handraise.desks.web.answering import CHANGED, DANGER, NO_BLOCK, NOT_MEANT, TOO_SOON
from handraise.desks.web.batch_sheets import BatchSheets, all_may_leave, mark_all
from handraise.desks.web.posted import read_entries
from handraise.desks.web.reception import Batch, Reception
from handraise.desks.web.sessions import Session
from handraise.desks.web.sheets import DESK, Sheets, form_of
from handraise.desks.web.with_passkey import WithPasskey, why_refused
from handraise.errors import HandraiseError
from handraise.questions import Accepted, Cancelled, Declined
from handraise.site.posted import Posted, first

logger = logging.getLogger(__name__)


class BatchAnswering:
    """Takes what a person does with questions that came together. Each gets its own answer and its own decision."""

    def __init__(
        self,
        queue: Queue,
        reception: Reception,
        sheets: Sheets,
        shown: BatchSheets,
        with_passkey: WithPasskey,
    ) -> None:
        self._with_passkey = with_passkey
        self._queue = queue
        self._reception = reception
        self._sheets = sheets
        self._shown = shown
        self.routes = [
            Route("/{place}/b/{handle}", self._batch),
            Route("/{place}/b/{handle}", self._act, methods=["POST"]),
            Route("/{place}/b/{handle}/review", self._review),
            Route("/{place}/b/{handle}/draft", self._keep, methods=["POST"]),
            Route("/{place}/b/{handle}/passkey", self._ask_for_passkey, methods=["POST"]),
        ]

    async def _batch(self, request: Request) -> Response:
        session, batch = self._found(request)
        return self._shown.ask(session, batch) if batch.waiting else self._shown.over(session, batch)

    async def _review(self, request: Request) -> Response:
        session, batch = self._found(request)
        if not all_may_leave(self._shown.filled(batch)):
            return self._to(session, batch)
        return self._shown.review(session, batch)

    async def _keep(self, request: Request) -> Response:
        """Keep the drafts that a page saves by itself."""
        session = self._reception.session(request)
        posted = await self._reception.posted(request, session)
        self._keep_drafts(self._found(request)[1], posted)
        return Response(status_code=204)

    async def _ask_for_passkey(self, request: Request) -> Response:
        """What the browser asks the passkey for: one link, or all forms as they would be sent now."""
        session = self._reception.session(request)
        posted = await self._reception.posted(request, session)
        batch = self._found(request)[1]
        wanted, _, handle = first(posted, "do").partition("-")
        if wanted == "accept":
            links = [one for one in batch.waiting if self._reception.handle(one) == handle]
            return self._with_passkey.begin(session, [(one, Decision(Accepted(None))) for one in links])
        filled = self._shown.filled(batch)
        if not all_may_leave(filled) or first(posted, "seen") != mark_all(filled):
            return Response(status_code=409)
        return self._with_passkey.begin(session, self._sending(batch, filled))

    async def _act(self, request: Request) -> Response:
        session = self._reception.session(request)
        posted = await self._reception.posted(request, session)
        batch = self._found(request)[1]
        if not batch.waiting:
            return self._shown.over(session, batch, 409)
        self._keep_drafts(batch, posted)
        wanted, _, handle = first(posted, "do").partition("-")
        if handle:
            return self._act_on_one(session, batch, wanted, handle, posted)
        match wanted:
            case "review":
                return self._check(session, batch)
            case "send":
                return self._send(session, batch, posted)
            case "decline":
                return self._decide(session, batch, ((one, Decision(Declined())) for one in batch.waiting))
            case "cancel":
                return self._decide(session, batch, ((one, Decision(Cancelled())) for one in batch.waiting))
            case "block":
                return self._block(session, batch, first(posted, "block"))
            case _:
                raise HTTPException(400, "No button was pressed.")

    def _act_on_one(
        self, session: Session, batch: Batch, wanted: str, handle: str, posted: Posted
    ) -> Response:
        waiting = next((one for one in batch.waiting if self._reception.handle(one) == handle), None)
        match wanted:
            case _ if waiting is None:
                return self._shown.ask(session, batch, 409, note="That question is over already.")
            case "decline":
                return self._decide(session, batch, [(waiting, Decision(Declined()))])
            case "cancel":
                return self._decide(session, batch, [(waiting, Decision(Cancelled()))])
            case "accept":
                return self._agree(session, batch, waiting, posted)
            case _:
                raise HTTPException(400, "No button was pressed.")

    def _agree(self, session: Session, batch: Batch, waiting: Waiting, posted: Posted) -> Response:
        """Agree to open one link. A form is sent from its review."""
        link = link_of(waiting)
        if form_of(waiting) is not None:
            return self._check(session, batch)
        if link is None or not link.may_be_opened:
            return self._shown.ask(session, batch, 403, note=DANGER)
        if self._sheets.is_fresh(waiting):
            return self._shown.ask(session, batch, 409, note=TOO_SOON)
        return self._accept(session, batch, [(waiting, Decision(Accepted(None)))], posted)

    def _check(self, session: Session, batch: Batch) -> Response:
        if not all_may_leave(self._shown.filled(batch)):
            return self._shown.ask(session, batch, 422, submitted=True)
        return self._to(session, batch, "/review")

    def _send(self, session: Session, batch: Batch, posted: Posted) -> Response:
        """Send exactly what the review showed, and nothing that came in between."""
        filled = self._shown.filled(batch)
        if not all_may_leave(filled):
            return self._check(session, batch)
        if first(posted, "seen") != mark_all(filled):
            return self._shown.review(session, batch, 409, note=CHANGED)
        if any(each.secrets for each in filled.values()) and first(posted, "anyway") != "yes":
            return self._shown.review(session, batch, 422, note=NOT_MEANT)
        if any(self._sheets.is_fresh(waiting) for waiting in batch.waiting):
            return self._shown.review(session, batch, 409, note=TOO_SOON)
        return self._accept(session, batch, self._sending(batch, filled), posted)

    def _sending(self, batch: Batch, filled: Mapping[str, Filled]) -> list[tuple[Waiting, Decision]]:
        """Every form of the batch, with the answer that would be sent."""
        sent = []
        for waiting in batch.waiting:
            if (form := form_of(waiting)) is not None:
                content = filled[waiting.id].content
                sent.append((waiting, Decision(Accepted(content), edited=edited(form, content))))
        return sent

    def _accept(
        self, session: Session, batch: Batch, accepting: list[tuple[Waiting, Decision]], posted: Posted
    ) -> Response:
        """Accept, with one passkey for all that needs one."""
        try:
            proof = self._with_passkey.prove(session, accepting, posted)
        except HandraiseError as error:
            logger.warning("a passkey was refused: %s", error)
            return self._shown.ask(session, batch, 422, note=why_refused(error, posted))
        return self._decide(session, batch, ((one, replace(made, passkey=proof)) for one, made in accepting))

    def _block(self, session: Session, batch: Batch, how_long: str) -> Response:
        """Decline all, and make one rule of it."""
        match how_long:
            case "session" | "always":
                first_one, *rest = batch.waiting
                blocking = (first_one, Decision(Declined(), block=how_long))
                return self._decide(
                    session, batch, [blocking, *((one, Decision(Declined())) for one in rest)]
                )
            case _:
                return self._shown.ask(session, batch, 422, block_note=NO_BLOCK)

    def _decide(
        self, session: Session, batch: Batch, decisions: Iterable[tuple[Waiting, Decision]]
    ) -> Response:
        """Decide each. What was decided elsewhere meanwhile stays as it is, and the page says so."""
        verdicts = [
            self._queue.decide(waiting.id, replace(decision, desk=DESK)) for waiting, decision in decisions
        ]
        if "too soon" in verdicts:
            return self._shown.ask(session, self._again(session, batch), 409, note=TOO_SOON)
        if "needs passkey" in verdicts:
            note = self._queue.needs_passkey
            return self._shown.ask(session, self._again(session, batch), 422, note=note)
        return self._to(session, batch)

    def _found(self, request: Request) -> tuple[Session, Batch]:
        session = self._reception.session(request)
        return session, self._reception.find_batch(session, request.path_params["handle"])

    def _again(self, session: Session, batch: Batch) -> Batch:
        return self._reception.find_batch(session, batch.handle)

    def _keep_drafts(self, batch: Batch, posted: Posted) -> None:
        if first(posted, "fields") != "here":
            return
        for waiting in batch.waiting:
            if (form := form_of(waiting)) is not None:
                self._queue.keep_draft(waiting.id, read_entries(form, posted, self._shown.prefix(waiting)))

    def _to(self, session: Session, batch: Batch, page: str = "") -> Response:
        return RedirectResponse(f"/{session.place}/b/{batch.handle}{page}", 303)
