"""The desk's pages: questions to answer, and what is left of them when they are over."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import partial
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from handraise.desks.endings import Ending, describe_ending
from handraise.desks.fill import Entries, Entry, Filled, local_moment, take_draft
from handraise.desks.language import ENGLISH, Language, language_of_browser
from handraise.desks.present import Presentation, form_of, in_words, link_of, odd_reasons, present
from handraise.desks.queue import ARMED_AFTER, Queue
from handraise.desks.waiting import Waiting
from handraise.desks.web.fields import FieldView, view_fields
from handraise.desks.web.lookup import Batch, Ended, QuestionLookup
from handraise.desks.web.passkey_answers import Offer, PasskeyAnswers
from handraise.desks.web.sessions import DeskSession
from handraise.display import UntrustedText
from handraise.site.rendering import environment
from handraise.urls import Inspection

DESK = "web"
"""What this desk is called in decisions."""


class DeskPages:
    """Renders the desk's templates in the language of the browser."""

    def __init__(self, *, has_rules: bool = False) -> None:
        """`has_rules`: there is a page for servers and rules to lead to."""
        self._environment = environment("handraise.desks.web", static="/static/")
        self._environment.globals.update(has_rules=has_rules, t=ENGLISH)

    def render(
        self,
        template: str,
        status: int = 200,
        *,
        session: DeskSession | None = None,
        language: Language = ENGLISH,
        **values: object,
    ) -> HTMLResponse:
        """A page. With a session it has the desk's navigation."""
        home = None if session is None else f"/{session.place}/"
        text = self._environment.get_template(template).render(
            session=session, home=home, t=language, troubles=_troubles(language), **values
        )
        return HTMLResponse(text, status, {"Content-Language": language.code, "Vary": "Accept-Language"})


def _troubles(language: Language) -> str:
    """Sentences for the script about a passkey that failed, by the name of the browser's error."""
    keys = {
        "NotAllowedError": "passkey_cancelled",
        "SecurityError": "passkey_elsewhere",
        "InvalidStateError": "passkey_exists",
        "Unsupported": "passkey_no_browser",
        "other": "passkey_other",
    }
    return json.dumps({name: language(key) for name, key in keys.items()}, ensure_ascii=False)


def language_of(request: Request) -> Language:
    """The language of the person who made a request."""
    return language_of_browser(request.headers.get("accept-language", ""))


@dataclass(frozen=True, slots=True)
class Part:
    """One question on a page."""

    handle: str
    waiting: Waiting
    shown: Presentation
    fields: tuple[FieldView, ...]


@dataclass(frozen=True, slots=True)
class PastQuestion:
    """One question that is over."""

    handle: str
    shown: Presentation
    ending: Ending
    link: Inspection | None
    """The link that the person agreed here to open."""
    blocked: bool


@dataclass(frozen=True, slots=True)
class Submitted:
    """What a page sent in, and why it is shown again."""

    filled: Mapping[str, Filled] = field(default_factory=dict)
    """By the id of the question."""
    read_as: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    look_again: str = ""
    """The mark of what the person is asked to look at once more."""


class QuestionPages:
    """Shows the questions of one batch, mostly one, and remembers since when they can be seen."""

    def __init__(
        self,
        queue: Queue,
        lookup: QuestionLookup,
        pages: DeskPages,
        passkey_answers: PasskeyAnswers,
        *,
        clock: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        self._queue = queue
        self._lookup = lookup
        self._pages = pages
        self._passkey_answers = passkey_answers
        self._clock = clock
        self._now = now
        self._seen_since: dict[str, float] = {}
        self._zones: dict[str, tzinfo | None] = {}

    def ask(
        self,
        session: DeskSession,
        batch: Batch,
        language: Language,
        status: int = 200,
        *,
        submitted: Submitted | None = None,
        note: str = "",
    ) -> Response:
        """Everything that waits of a batch, to be answered."""
        self._shown(batch.waiting)
        deadlines = [one.deadline for one in batch.waiting if one.deadline is not None]
        parts = [self._part(session, one, batch, language, submitted) for one in batch.waiting]
        return self._pages.render(
            "question.html",
            status,
            session=session,
            language=language,
            count=len(self._lookup.waiting(session)),
            at=f"/{session.place}/q/{batch.handle}",
            handles=" ".join(part.handle for part in parts),
            parts=parts,
            ended=[self.past(one, language) for one in batch.ended],
            left=max(0.0, min(deadlines) - self._now()) if deadlines else None,
            armed_after=round(ARMED_AFTER * 1000),
            passkey=self._offer(session, batch.waiting, language),
            submitted=submitted,
            look_again=self._look_again(parts, submitted, language),
            stops=[
                found for each in (submitted.filled.values() if submitted else ()) for found in each.stopped
            ],
            general=[
                problem.message
                for each in (submitted.filled.values() if submitted else ())
                for problem in each.problems
                if problem.field is None
            ],
            note=note,
        )

    def _offer(self, session: DeskSession, asked: Sequence[Waiting], language: Language) -> Offer | None:
        """How to say yes with a passkey here. A proof counts in one process only: a tray leads to the asking desk."""
        if self._queue.elsewhere and any(waiting.passkey for waiting in asked):
            return Offer(False, language("passkey_at_own_desk"), own_desk=True)
        return self._passkey_answers.offer(session, asked, language)

    def over(self, session: DeskSession, batch: Batch, language: Language, status: int = 200) -> Response:
        """How all of it ended, and the way to what still waits."""
        rest = self._lookup.waiting(session)
        return self._pages.render(
            "ended.html",
            status,
            session=session,
            language=language,
            count=len(rest),
            next=self._lookup.batch_handle(rest[0]) if rest else None,
            waits=[self._lookup.handle(waiting) for waiting in rest],
            past=[self.past(one, language) for one in batch.ended],
        )

    def opening(self, session: DeskSession, waiting: Waiting, language: Language) -> Response:
        """Lead the tab to the link that the person agreed to open. A redirect would keep to our own pages only."""
        response = self._pages.render(
            "opening.html", session=session, language=language, count=None, link=link_of(waiting)
        )
        response.headers["Referrer-Policy"] = "no-referrer"
        return response

    def past(self, ended: Ended, language: Language) -> PastQuestion:
        """One question that is over, as a page tells of it."""
        decision, waiting = ended.decision, ended.waiting
        consent = decision.answer.action == "accept" and decision.desk == DESK and not waiting.browsing
        return PastQuestion(
            self._lookup.batch_handle(waiting),
            present(waiting, language),
            describe_ending(waiting, decision, self._now(), language=language),
            link_of(waiting) if consent else None,
            decision.block is not None,
        )

    def entries(self, waiting: Waiting) -> Entries:
        """The content of the fields: the draft, or at first the server's suggestions."""
        form = form_of(waiting.question)
        draft, last_answer = self._queue.draft(waiting.id), waiting.question.hints.last_answer
        return {} if form is None else take_draft(form, draft, last_answer)

    def prefix(self, waiting: Waiting, batch: Batch) -> str:
        """What the names of a question's fields begin with."""
        alone = len(batch.waiting) + len(batch.ended) == 1
        return "f" if alone else f"q{self._lookup.handle(waiting)[:12]}-"

    def is_fresh(self, batch: Batch) -> bool:
        """Whether the page was shown so recently that a click cannot be meant for it.

        The queue has the same rule for the first time that a question is shown. This one holds for every
        page: the second click of a double click lands on a button of the next page.
        """
        seen = [self._seen_since.get(waiting.id) for waiting in batch.waiting]
        return any(since is None or self._clock() - since < ARMED_AFTER for since in seen)

    def _part(
        self,
        session: DeskSession,
        waiting: Waiting,
        batch: Batch,
        language: Language,
        submitted: Submitted | None,
    ) -> Part:
        shown, form = present(waiting, language), form_of(waiting.question)
        fields: Sequence[FieldView] = ()
        if form is not None:
            fields = view_fields(
                form,
                shown.fields,
                self.entries(waiting),
                None if submitted is None else submitted.filled.get(waiting.id),
                self.prefix(waiting, batch),
                language=language,
                read_as=None if submitted is None else submitted.read_as.get(waiting.id),
                last_answer=waiting.question.hints.last_answer,
                in_zone=self._in_zone(session),
            )
        return Part(self._lookup.handle(waiting), waiting, shown, tuple(fields))

    def zone(self, session: DeskSession, name: str) -> tzinfo | None:
        """The zone that a browser posted, kept for what is shown to it next; None stands for this computer's."""
        self._zones[session.place] = _zone_of(name)
        return self._zones[session.place]

    def _in_zone(self, session: DeskSession) -> Callable[[Entry], str] | None:
        if session.place not in self._zones:
            return None
        return partial(local_moment, zone=self._zones[session.place])

    def _look_again(
        self, parts: Sequence[Part], submitted: Submitted | None, language: Language
    ) -> dict[str, object] | None:
        """What needs a second look: the reasons, and the answers that they are about."""
        if submitted is None or not submitted.look_again:
            return None
        lines: list[tuple[UntrustedText, UntrustedText]] = []
        reasons: list[str] = []
        said: list[str] = []
        for part in parts:
            filled = submitted.filled.get(part.waiting.id)
            if filled is None:
                continue
            reasons += odd_reasons(filled, part.shown.fields, language)
            said += [language.sentence(found.reason) for found in filled.odd]
            doubted = {found.field for found in filled.odd}.union(submitted.read_as.get(part.waiting.id, ()))
            lines += [
                (each.label, UntrustedText(in_words(each, filled.content[each.name], language)))
                for each in part.shown.fields
                if each.name in filled.content and each.name in doubted
            ]
        readings = any(submitted.read_as.values())
        return {
            "mark": submitted.look_again,
            "reasons": reasons,
            "said": said,
            "lines": lines,
            "readings": readings,
        }

    def _shown(self, shown: Sequence[Waiting]) -> None:
        here = {one.id for one in self._queue.waiting()}
        self._seen_since = {key: at for key, at in self._seen_since.items() if key in here}
        for waiting in shown:
            self._queue.show(waiting.id)
            self._seen_since[waiting.id] = self._clock()


def _zone_of(name: str) -> tzinfo | None:
    """The zone in which the browser shows times; None when it does not say: then this computer's."""
    with suppress(Exception):  # whatever zoneinfo raises for a name that is none
        return ZoneInfo(name) if name else None
    return None


def mark(*shown: object) -> str:
    """A digest by which a page names the answers that it showed."""
    text = json.dumps(shown, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
