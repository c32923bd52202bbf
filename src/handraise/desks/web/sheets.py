"""The pages of one question: the sheet to fill in, the review, and what is left when it is over."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from starlette.responses import Response

from handraise.desks.fill import Entries, Filled, suggest
from handraise.desks.queue import ARMED_AFTER, Queue
from handraise.desks.review import review
from handraise.desks.sheet import lay_out, link_of
from handraise.desks.telling import left, tell
from handraise.desks.waiting import Content, Waiting
from handraise.desks.web.fields import view_fields
from handraise.desks.web.pages import Pages
from handraise.desks.web.reception import Ended, Reception
from handraise.desks.web.sessions import Session
from handraise.desks.web.with_passkey import WithPasskey
from handraise.forms import Flag, Form
from handraise.questions import FormQuestion
from handraise.urls import Inspection

DESK = "web"
"""What this desk is called in decisions."""


class Sheets:
    """Shows one question, and remembers since when it can be seen."""

    def __init__(
        self,
        queue: Queue,
        reception: Reception,
        pages: Pages,
        with_passkey: WithPasskey,
        *,
        clock: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        self._queue = queue
        self._reception = reception
        self._pages = pages
        self._with_passkey = with_passkey
        self._clock = clock
        self._now = now
        self._seen_since: dict[str, float] = {}

    def ask(
        self,
        session: Session,
        waiting: Waiting,
        status: int = 200,
        *,
        filled: Filled | None = None,
        note: str = "",
        block_note: str = "",
    ) -> Response:
        """The question with its fields. `filled` is what was submitted and cannot go on like this."""
        form, sheet = form_of(waiting), lay_out(waiting)
        fields = () if form is None else view_fields(form, sheet.fields, self.entries(waiting, form), filled)
        return self.show(
            "question.html",
            status,
            session,
            [waiting],
            **self._place(session, waiting),
            sheet=sheet,
            fields=fields,
            submitted=filled,
            browsing=waiting.browsing,
            asked_again=waiting.asked_again,
            can_be_declined=waiting.can_be_declined,
            yes_alone=flag_alone(waiting) is not None,
            stops=[] if filled is None else [found for found in filled.secrets if found.tier == 1],
            note=note,
            block_note=block_note,
        )

    def review(
        self, session: Session, waiting: Waiting, filled: Filled, status: int = 200, *, note: str = ""
    ) -> Response:
        """Exactly what will be sent, with the mark by which sending refers to it."""
        form, sheet = form_of(waiting), lay_out(waiting)
        assert form is not None
        return self.show(
            "review.html",
            status,
            session,
            [waiting],
            **self._place(session, waiting),
            sheet=sheet,
            lines=review(form, sheet, filled),
            whole_content=as_sent(filled.content),
            seen=mark(as_sent(filled.content)),
            secrets=filled.secrets,
            note=note,
            block_note="",
        )

    def over(self, session: Session, ended: Ended, status: int = 200) -> Response:
        """How the question ended. Where the person agreed here to open a link, the link."""
        return self.close(
            "ended.html",
            status,
            session,
            ending=tell(ended.decision, self._now(), browsing=ended.waiting.browsing),
            sheet=lay_out(ended.waiting),
            link=agreed_link(ended),
            blocked=ended.decision.block is not None,
        )

    def show(
        self, template: str, status: int, session: Session, shown: Sequence[Waiting], **values: object
    ) -> Response:
        """A page on which these questions can be seen from now on."""
        self._shown(shown)
        deadlines = [one.deadline for one in shown if one.deadline is not None]
        return self._pages.render(
            template,
            status,
            session=session,
            count=len(self._reception.waiting(session)),
            left=left(min(deadlines) - self._now()) if deadlines else None,
            armed_after=round(ARMED_AFTER * 1000),
            passkey=self._with_passkey.offer(session, shown),
            **values,
        )

    def close(self, template: str, status: int, session: Session, **values: object) -> Response:
        """A page about what is over, which leads on to what still waits."""
        rest = self._reception.waiting(session)
        following = self._reception.handle(rest[0]) if rest else None
        return self._pages.render(
            template, status, session=session, count=len(rest), next=following, **values
        )

    def entries(self, waiting: Waiting, form: Form[Any]) -> Entries:
        """What stands in the fields: the draft, or at first the server's suggestions."""
        return self._queue.draft(waiting.id) or suggest(form)

    def is_fresh(self, waiting: Waiting) -> bool:
        """Whether the page was shown so recently that a click cannot be meant for it.

        The queue has the same rule for the first time that a question is shown. This one holds for every
        page: the second click of a double click lands on a button of the next page.
        """
        since = self._seen_since.get(waiting.id)
        return since is None or self._clock() - since < ARMED_AFTER

    def _shown(self, shown: Sequence[Waiting]) -> None:
        here = {one.id for one in self._queue.waiting()}
        self._seen_since = {key: at for key, at in self._seen_since.items() if key in here}
        for waiting in shown:
            self._queue.show(waiting.id)
            self._seen_since[waiting.id] = self._clock()

    def _place(self, session: Session, waiting: Waiting) -> dict[str, object]:
        """What a page about one question calls it, and where it is."""
        handle = self._reception.handle(waiting)
        return {"handle": handle, "at": f"/{session.place}/q/{handle}"}


def agreed_link(ended: Ended) -> Inspection | None:
    """The link that the person agreed here to open."""
    consent = ended.decision.answer.action == "accept" and ended.decision.desk == DESK
    return link_of(ended.waiting) if consent and not ended.waiting.browsing else None


def form_of(waiting: Waiting) -> Form[Any] | None:
    """The form of a question, None for a link."""
    return waiting.question.form if isinstance(waiting.question, FormQuestion) else None


def flag_alone(waiting: Waiting) -> str | None:
    """The one field of a question that needs a passkey and wants nothing but a yes: the passkey is the yes."""
    form = form_of(waiting)
    if not waiting.passkey or form is None or len(form.fields) != 1 or not isinstance(form.fields[0], Flag):
        return None
    return form.fields[0].name


def as_sent(content: Content) -> str:
    """An answer's content as it goes on the wire."""
    return json.dumps(content, ensure_ascii=False)


def mark(shown: str) -> str:
    """By which sending refers to what a review showed."""
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()
