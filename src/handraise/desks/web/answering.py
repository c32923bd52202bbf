"""Answering questions in the browser: nothing is decided but by a button that says so.

A page has the questions of one batch, mostly one. A confirmation alone is answered by one of its two buttons. A form is
edited until it is sent. A second look is asked for only when something is odd, or was read otherwise than typed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from handraise.desks.fill import Filled, TypedEntries, edited, fill, read_typed
from handraise.desks.language import Language
from handraise.desks.present import form_of, kind_of, link_of
from handraise.desks.queue import Queue
from handraise.desks.waiting import Decision, Waiting
from handraise.desks.web.fields import read_entries
from handraise.desks.web.lookup import Batch, QuestionLookup
from handraise.desks.web.pages import DESK, QuestionPages, Submitted, language_of, mark
from handraise.desks.web.passkey_answers import PasskeyAnswers, why_refused
from handraise.desks.web.sessions import DeskSession, link_in_page
from handraise.errors import HandraiseError
from handraise.questions import Accepted, Cancelled, Declined, FormQuestion
from handraise.site.middleware import Posted, first

logger = logging.getLogger(__name__)

Deciding = list[tuple[Waiting, Decision]]


@dataclass(frozen=True, slots=True)
class _Sent:
    """A posted page: how each form was read, and the content that would be sent."""

    readings: dict[str, TypedEntries]
    filled: dict[str, Filled]

    @property
    def sendable(self) -> bool:
        return all(each.sendable for each in self.filled.values())

    @property
    def look_again(self) -> str:
        """The mark of what wants a second look; empty when nothing does."""
        read_as = {name: each.read_as for name, each in self.readings.items() if each.read_as}
        odd = {name: each.content for name, each in self.filled.items() if each.odd}
        return mark(read_as, odd) if read_as or odd else ""

    def submitted(self, *, look_again: bool = False) -> Submitted:
        read_as = {name: each.read_as for name, each in self.readings.items()}
        return Submitted(self.filled, read_as, self.look_again if look_again else "")


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

    async def _question(self, request: Request) -> Response:
        session = self._lookup.session(request)
        batch = self._lookup.find_batch(session, request.path_params["handle"])
        language = language_of(request)
        if not batch.waiting:
            return self._pages.over(session, batch, language)
        return self._pages.ask(session, batch, language)

    async def _go_to_own_desk(self, request: Request) -> Response:
        """Lead the browser of a tray to the desk that asks, signed in for this question."""
        session, language = self._lookup.session(request), language_of(request)
        batch = self._lookup.find_batch(session, request.path_params["handle"])
        needing = [waiting.id for waiting in batch.waiting if waiting.passkey]
        file = await asyncio.to_thread(self._queue.own_desk, needing[0]) if needing else None
        link = None if file is None else link_in_page(file)
        if link is not None:
            return RedirectResponse(link, 303)
        if not batch.waiting:
            return self._pages.over(session, batch, language)
        return self._pages.ask(session, batch, language, 409, note=language("own_desk_gone"))

    async def _keep(self, request: Request) -> Response:
        """Keep the draft that a page saves by itself, and tell the page how numbers and dates were read."""
        session = self._lookup.session(request)
        posted = await self._lookup.posted(request, session)
        batch = self._lookup.find_batch(session, request.path_params["handle"])
        if not batch.waiting:
            return Response(status_code=410)
        sent = self._read(session, batch, posted, language_of(request))
        shown = {
            f"{self._pages.prefix(waiting, batch)}{at}": sent.readings[waiting.id].read_as.get(field.name, "")
            for waiting in batch.waiting
            if waiting.id in sent.readings and (form := form_of(waiting.question)) is not None
            for at, field in enumerate(form.fields)
        }
        odd = any(each.odd for each in sent.filled.values())
        return JSONResponse({"read": shown, "mark": "" if odd else sent.look_again})

    async def _ask_for_passkey(self, request: Request) -> Response:
        """Options for the passkey, bound to exactly the answers of this post; 409 if they cannot be sent."""
        session = self._lookup.session(request)
        posted = await self._lookup.posted(request, session)
        batch = self._lookup.find_batch(session, request.path_params["handle"])
        deciding = self._deciding(batch, posted, self._read(session, batch, posted, language_of(request)))
        return (
            Response(status_code=409) if deciding is None else self._passkey_answers.begin(session, deciding)
        )

    async def _act(self, request: Request) -> Response:
        session = self._lookup.session(request)
        posted = await self._lookup.posted(request, session)
        batch = self._lookup.find_batch(session, request.path_params["handle"])
        language = language_of(request)
        if not batch.waiting:
            return self._pages.over(session, batch, language, 409)
        sent = self._read(session, batch, posted, language)
        wanted, _, handle = first(posted, "do").partition("-")
        match wanted, handle:
            case "block", ("session" | "always") as how_long:
                return self._block(session, batch, language, how_long)
        chosen = [one for one in batch.waiting if not handle or self._lookup.handle(one) == handle]
        if not chosen:
            return self._pages.ask(session, batch, language, 409, note=language("gone_meanwhile"))
        match wanted:
            case "decline":
                return self._decide(session, batch, language, [(one, Decision(Declined())) for one in chosen])
            case "cancel":
                return self._decide(
                    session, batch, language, [(one, Decision(Cancelled())) for one in chosen]
                )
            case "yes" | "no" | "accept" | "send" | "open" | "done":
                return self._accept(session, batch, language, posted, sent)
            case _:
                raise HTTPException(400, language("no_button"))

    def _accept(
        self, session: DeskSession, batch: Batch, language: Language, posted: Posted, sent: _Sent
    ) -> Response:
        deciding = self._deciding(batch, posted, sent)
        if deciding is None:
            if not sent.sendable:
                return self._pages.ask(session, batch, language, 422, submitted=sent.submitted())
            return self._pages.ask(session, batch, language, 409, submitted=sent.submitted(look_again=True))
        if any(not _may_be_opened(one) for one, _ in deciding):
            return self._pages.ask(session, batch, language, 403, note=language("cannot_be_opened"))
        if self._pages.is_fresh(batch):
            return self._pages.ask(session, batch, language, 409, note=language("too_soon"))
        try:
            proof = self._passkey_answers.prove(session, deciding, posted)
        except HandraiseError as error:
            logger.warning("a passkey was refused: %s", error)
            return self._pages.ask(session, batch, language, 422, note=why_refused(error, posted, language))
        proven = [
            (one, replace(decision, passkey=proof) if one.passkey else decision) for one, decision in deciding
        ]
        decided = self._decide(session, batch, language, proven)
        if first(posted, "tab") == "yes" and isinstance(decided, RedirectResponse):
            return self._pages.opening(session, deciding[0][0], language)  # in a tab of its own
        return decided

    def _deciding(self, batch: Batch, posted: Posted, sent: _Sent) -> Deciding | None:
        """The decisions of an accepting button; None if the person has to correct or look at something first."""
        wanted, _, handle = first(posted, "do").partition("-")
        chosen = [one for one in batch.waiting if not handle or self._lookup.handle(one) == handle]
        match wanted:
            case "yes" | "no":
                answers = [
                    (one, Decision(Accepted({name: wanted == "yes"})))
                    for one in chosen
                    if isinstance(one.question, FormQuestion) and (name := one.question.confirms) is not None
                ]
                return answers[:1]
            case "open" | "done":
                return [(one, Decision(Accepted(None))) for one in chosen if form_of(one.question) is None]
            case "accept" | "send":
                if not sent.sendable or (sent.look_again and first(posted, "looked") != sent.look_again):
                    return None
                return [
                    (one, Decision(Accepted(filled.content), edited=edited(form, filled.content)))
                    for one in chosen
                    if (form := form_of(one.question)) is not None
                    and (filled := sent.filled.get(one.id)) is not None
                ]
            case _:
                return None

    def _block(
        self, session: DeskSession, batch: Batch, language: Language, how_long: Literal["session", "always"]
    ) -> Response:
        first_one, *rest = batch.waiting  # one rule is enough
        deciding = [(first_one, Decision(Declined(), block=how_long))]
        deciding += [(one, Decision(Declined())) for one in rest]
        return self._decide(session, batch, language, deciding)

    def _decide(
        self,
        session: DeskSession,
        batch: Batch,
        language: Language,
        deciding: Iterable[tuple[Waiting, Decision]],
    ) -> Response:
        verdicts = {self._queue.decide(one.id, replace(decision, desk=DESK)) for one, decision in deciding}
        if "too soon" in verdicts:
            return self._pages.ask(session, batch, language, 409, note=language("too_soon"))
        if "needs passkey" in verdicts:
            return self._pages.ask(session, batch, language, 422, note=language("passkey_not_used"))
        if "too late" in verdicts:
            return self._pages.over(session, self._lookup.find_batch(session, batch.handle), language, 409)
        return RedirectResponse(f"/{session.place}/q/{batch.handle}", 303)

    def _read(self, session: DeskSession, batch: Batch, posted: Posted, language: Language) -> _Sent:
        """Read what a page posted, and keep it as drafts."""
        readings: dict[str, TypedEntries] = {}
        filled: dict[str, Filled] = {}
        zone = self._pages.zone(session, first(posted, "zone"))
        for waiting in batch.waiting:
            form = form_of(waiting.question)
            if form is None:
                continue
            if kind_of(waiting) == "confirm" and len(batch.waiting) == 1:
                continue  # its buttons are the answer
            prefix = self._pages.prefix(waiting, batch)
            if form.fields and first(posted, f"{prefix}here") == "yes":
                reading = read_typed(form, read_entries(form, posted, prefix), language, zone)
                self._queue.keep_draft(waiting.id, reading.entries)
            else:
                reading = TypedEntries(self._pages.entries(waiting))
            readings[waiting.id] = reading
            filled[waiting.id] = fill(form, reading.entries, waiting.doubts)
        return _Sent(readings, filled)


def _may_be_opened(waiting: Waiting) -> bool:
    link = link_of(waiting)
    return (
        waiting.browsing or form_of(waiting.question) is not None or (link is not None and link.may_be_opened)
    )
