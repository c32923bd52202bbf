"""Answering questions in the browser: nothing is decided but by a button that says so.

A page has the questions of one batch, mostly one. A confirmation alone is answered by one of its two buttons. A form is
edited until it is sent. A second look is asked for only when something is odd, or was read otherwise than typed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import replace

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from handraise.desks.fill import Filled, TypedEntries, edited, fill, read_typed
from handraise.desks.present import form_of, kind_of, link_of
from handraise.desks.queue import Queue
from handraise.desks.waiting import Decision, Waiting
from handraise.desks.web.fields import read_entries
from handraise.desks.web.pages import DESK, QuestionPages, Submitted
from handraise.desks.web.passkeys import PasskeyAnswers, why_refused
from handraise.desks.web.sessions import Batch, DeskVisit, QuestionLookup, link_in_page
from handraise.errors import HandraiseError
from handraise.questions import Accepted, Cancelled, Declined, FormQuestion
from handraise.site.middleware import first

logger = logging.getLogger(__name__)

Deciding = list[tuple[Waiting, Decision]]


class Answering:
    """Takes what a person does with questions that came together. Each gets its own answer."""

    def __init__(
        self, queue: Queue, lookup: QuestionLookup, pages: QuestionPages, passkey_answers: PasskeyAnswers
    ) -> None:
        self._queue = queue
        self._lookup = lookup
        self._pages = pages
        self._passkey_answers = passkey_answers
        self.routes = [
            Route("/{place}/q/{handle}", self._question),
            Route("/{place}/q/{handle}", self._act, methods=["POST"]),
            Route("/{place}/q/{handle}/own-desk", self._go_to_own_desk),
            Route("/{place}/q/{handle}/draft", self._keep, methods=["POST"]),
            Route("/{place}/q/{handle}/passkey", self._ask_for_passkey, methods=["POST"]),
        ]

    async def _arrive(self, request: Request) -> tuple[DeskVisit, Batch]:
        visit = await self._lookup.visit(request)
        return visit, self._lookup.find_batch(visit.session, request.path_params["handle"])

    async def _question(self, request: Request) -> Response:
        visit, batch = await self._arrive(request)
        return self._pages.ask(visit, batch) if batch.waiting else self._pages.over(visit, batch)

    async def _go_to_own_desk(self, request: Request) -> Response:
        """Lead the browser of a tray to the desk that asks, signed in for this question."""
        visit, batch = await self._arrive(request)
        needing = [waiting.id for waiting in batch.waiting if waiting.passkey]
        file = await asyncio.to_thread(self._queue.own_desk, needing[0]) if needing else None
        link = None if file is None else link_in_page(file)
        if link is not None:
            return RedirectResponse(link, 303)
        if not batch.waiting:
            return self._pages.over(visit, batch)
        return self._pages.ask(visit, batch, 409, note=visit.language("own_desk_gone"))

    async def _keep(self, request: Request) -> Response:
        """Keep the draft that a page saves by itself, and tell the page how numbers and dates were read."""
        visit, batch = await self._arrive(request)
        if not batch.waiting:
            return Response(status_code=410)
        sent = self._read(visit, batch)
        shown = {
            f"{self._pages.prefix(waiting, batch)}{at}": sent.read_as[waiting.id].get(field.name, "")
            for waiting in batch.waiting
            if waiting.id in sent.read_as and (form := form_of(waiting.question)) is not None
            for at, field in enumerate(form.fields)
        }
        odd = any(each.odd for each in sent.filled.values())
        return JSONResponse({"read": shown, "mark": "" if odd else sent.look_again})

    async def _ask_for_passkey(self, request: Request) -> Response:
        """Options for the passkey, bound to exactly the answers of this post; 409 if they cannot be sent."""
        visit, batch = await self._arrive(request)
        deciding = self._accepting(visit, batch, self._read(visit, batch))
        return Response(status_code=409) if deciding is None else self._passkey_answers.begin(visit, deciding)

    async def _act(self, request: Request) -> Response:
        visit, batch = await self._arrive(request)
        if not batch.waiting:
            return self._pages.over(visit, batch, 409)
        sent = self._read(visit, batch)
        button = _button(visit)
        match button:
            case "block", ("session" | "always") as how_long:
                declined = [(one, Decision(Declined())) for one in batch.waiting]
                blocking = batch.waiting[0], Decision(Declined(), block=how_long)  # one rule is enough
                return self._decide(visit, batch, [blocking, *declined[1:]])
        if not (chosen := self._chosen(visit, batch)):
            return self._pages.ask(visit, batch, 409, note=visit.language("gone_meanwhile"))
        match button[0]:
            case "decline":
                return self._decide(visit, batch, [(one, Decision(Declined())) for one in chosen])
            case "cancel":
                return self._decide(visit, batch, [(one, Decision(Cancelled())) for one in chosen])
            case "yes" | "no" | "accept" | "send" | "open" | "done":
                return self._accept(visit, batch, sent)
            case _:
                raise HTTPException(400, visit.language("no_button"))

    def _accept(self, visit: DeskVisit, batch: Batch, sent: Submitted) -> Response:
        deciding = self._accepting(visit, batch, sent)
        if deciding is None:
            status = 409 if sent.sendable else 422
            return self._pages.ask(visit, batch, status, submitted=sent, look_again=sent.sendable)
        if any(not _may_be_opened(one) for one, _ in deciding):
            return self._pages.ask(visit, batch, 403, note=visit.language("cannot_be_opened"))
        if self._pages.is_fresh(batch):
            return self._pages.ask(visit, batch, 409, note=visit.language("too_soon"))
        try:
            proof = self._passkey_answers.prove(visit, deciding)
        except HandraiseError as error:
            logger.warning("a passkey was refused: %s", error)
            note = why_refused(error, visit.posted, visit.language)
            return self._pages.ask(visit, batch, 422, note=note)
        proven = [
            (one, replace(decision, passkey=proof) if one.passkey else decision) for one, decision in deciding
        ]
        decided = self._decide(visit, batch, proven)
        if first(visit.posted, "tab") == "yes" and isinstance(decided, RedirectResponse):
            return self._pages.opening(visit, deciding[0][0])  # in a tab of its own
        return decided

    def _accepting(self, visit: DeskVisit, batch: Batch, sent: Submitted) -> Deciding | None:
        """The decisions of an accepting button; None if the person has to correct or look at something first."""
        act, chosen = _button(visit)[0], self._chosen(visit, batch)
        match act:
            case "yes" | "no":
                answers = [
                    (one, Decision(Accepted({name: act == "yes"})))
                    for one in chosen
                    if isinstance(one.question, FormQuestion) and (name := one.question.confirms) is not None
                ]
                return answers[:1]
            case "open" | "done":
                return [(one, Decision(Accepted(None))) for one in chosen if form_of(one.question) is None]
            case "accept" | "send":
                looked = first(visit.posted, "looked")
                if not sent.sendable or (sent.look_again and looked != sent.look_again):
                    return None
                return [
                    (one, Decision(Accepted(filled.content), edited=edited(form, filled.content)))
                    for one in chosen
                    if (form := form_of(one.question)) is not None
                    and (filled := sent.filled.get(one.id)) is not None
                ]
            case _:
                return None

    def _chosen(self, visit: DeskVisit, batch: Batch) -> list[Waiting]:
        """The questions that the pressed button is for: all of them, or the one that it names."""
        handle = _button(visit)[1]
        return [one for one in batch.waiting if not handle or self._lookup.handle(one) == handle]

    def _decide(
        self, visit: DeskVisit, batch: Batch, deciding: Iterable[tuple[Waiting, Decision]]
    ) -> Response:
        verdicts = {self._queue.decide(one.id, replace(decision, desk=DESK)) for one, decision in deciding}
        if "too soon" in verdicts:
            return self._pages.ask(visit, batch, 409, note=visit.language("too_soon"))
        if "needs passkey" in verdicts:
            return self._pages.ask(visit, batch, 422, note=visit.language("passkey_not_used"))
        if "too late" in verdicts:
            return self._pages.over(visit, self._lookup.find_batch(visit.session, batch.handle), 409)
        return RedirectResponse(f"/{visit.session.place}/q/{batch.handle}", 303)

    def _read(self, visit: DeskVisit, batch: Batch) -> Submitted:
        """Read what a page posted, and keep it as drafts."""
        filled: dict[str, Filled] = {}
        read_as: dict[str, dict[str, str]] = {}
        zone = self._pages.zone(visit.session, first(visit.posted, "zone"))
        for waiting in batch.waiting:
            form = form_of(waiting.question)
            if form is None:
                continue
            if kind_of(waiting) == "confirm" and len(batch.waiting) == 1:
                continue  # its buttons are the answer
            prefix = self._pages.prefix(waiting, batch)
            if form.fields and first(visit.posted, f"{prefix}here") == "yes":
                reading = read_typed(form, read_entries(form, visit.posted, prefix), visit.language, zone)
                self._queue.keep_draft(waiting.id, reading.entries)
            else:
                reading = TypedEntries(self._pages.entries(waiting))
            read_as[waiting.id] = reading.read_as
            filled[waiting.id] = fill(form, reading.entries, waiting.doubts)
        return Submitted(filled, read_as)


def _button(visit: DeskVisit) -> tuple[str, str]:
    """What the pressed button does, and the question that it names, or for how long it blocks."""
    act, _, handle = first(visit.posted, "do").partition("-")
    return act, handle


def _may_be_opened(waiting: Waiting) -> bool:
    link = link_of(waiting)
    return (
        waiting.browsing or form_of(waiting.question) is not None or (link is not None and link.may_be_opened)
    )
