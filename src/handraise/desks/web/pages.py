"""The desk's pages: questions to answer, and what is left of them when they are over."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from starlette.responses import HTMLResponse, Response

from handraise.desks.endings import Ending, describe_ending
from handraise.desks.fill import Entries, Entry, Filled, local_moment, take_draft
from handraise.desks.language import ENGLISH, Language
from handraise.desks.present import Presentation, form_of, in_words, link_of, odd_reasons, present
from handraise.desks.queue import ARMED_AFTER, Queue
from handraise.desks.waiting import Waiting
from handraise.desks.web.fields import FieldView, view_fields
from handraise.desks.web.sessions import Batch, DeskSession, DeskVisit, Ended, QuestionLookup
from handraise.display import UntrustedText
from handraise.site.rendering import environment
from handraise.urls import Inspection

if TYPE_CHECKING:
    from handraise.desks.web.passkeys import PasskeyAnswers

DESK = "web"
"""What this desk is called in decisions."""


class DeskPages:
    """Renders the desk's templates in the language of the browser."""

    def __init__(self, lookup: QuestionLookup, *, has_rules: bool) -> None:
        """`has_rules`: there is a page for servers and rules to lead to."""
        self._lookup = lookup
        self._environment = environment("handraise.desks.web", static="/static/")
        self._environment.globals.update(has_rules=has_rules, t=ENGLISH)

    def render(
        self,
        template: str,
        status: int,
        seen_by: DeskVisit | Language,
        **values: object,
    ) -> HTMLResponse:
        """A page. For a visitor who is signed in it has the desk's navigation, with the count of what waits."""
        language = seen_by if isinstance(seen_by, Language) else seen_by.language
        session, home, count = None, None, None
        if isinstance(seen_by, DeskVisit):
            session = seen_by.session
            home, count = f"/{session.place}/", len(self._lookup.waiting(session))
        usual = {"session": session, "home": home, "count": count, "troubles": _troubles(language)}
        text = self._environment.get_template(template).render({**usual, "t": language, **values})
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
    """The forms that a page sent in, by the ids of their questions."""

    filled: Mapping[str, Filled]
    read_as: Mapping[str, Mapping[str, str]]
    """How fields were read that were typed otherwise."""

    @property
    def sendable(self) -> bool:
        """Whether every form can be sent."""
        return all(each.sendable for each in self.filled.values())

    @property
    def look_again(self) -> str:
        """The mark of what wants a second look; empty when nothing does. It names exactly these answers."""
        read_as = {name: each for name, each in self.read_as.items() if each}
        odd = {name: each.content for name, each in self.filled.items() if each.odd}
        if not read_as and not odd:
            return ""
        text = json.dumps([read_as, odd], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


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
        visit: DeskVisit,
        batch: Batch,
        status: int = 200,
        *,
        submitted: Submitted | None = None,
        look_again: bool = False,
        note: str = "",
    ) -> Response:
        """Everything that waits of a batch, to be answered; `look_again`: with what wants a second look."""
        language = visit.language
        self._shown(batch.waiting)
        deadlines = [one.deadline for one in batch.waiting if one.deadline is not None]
        parts = [self._part(visit, one, batch, submitted) for one in batch.waiting]
        filled = [] if submitted is None else list(submitted.filled.values())
        return self._pages.render(
            "question.html",
            status,
            visit,
            at=f"/{visit.session.place}/q/{batch.handle}",
            handles=" ".join(part.handle for part in parts),
            parts=parts,
            ended=[self.past(one, language) for one in batch.ended],
            left=max(0.0, min(deadlines) - self._now()) if deadlines else None,
            armed_after=round(ARMED_AFTER * 1000),
            passkey=self._passkey_answers.offer(batch.waiting, language, elsewhere=self._queue.elsewhere),
            look_again=_look_again(parts, submitted, language) if submitted and look_again else None,
            stops=[found for each in filled for found in each.stopped],
            general=[
                problem.message for each in filled for problem in each.problems if problem.field is None
            ],
            note=note,
        )

    def over(self, visit: DeskVisit, batch: Batch, status: int = 200) -> Response:
        """How all of it ended, and the way to what still waits."""
        rest = self._lookup.waiting(visit.session)
        return self._pages.render(
            "ended.html",
            status,
            visit,
            next=self._lookup.batch_handle(rest[0]) if rest else None,
            waits=[self._lookup.handle(waiting) for waiting in rest],
            past=[self.past(one, visit.language) for one in batch.ended],
        )

    def opening(self, visit: DeskVisit, waiting: Waiting) -> Response:
        """Lead the tab to the link that the person agreed to open. A redirect would keep to our own pages only."""
        response = self._pages.render("opening.html", 200, visit, count=None, link=link_of(waiting))
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

    def _part(self, visit: DeskVisit, waiting: Waiting, batch: Batch, submitted: Submitted | None) -> Part:
        shown, form = present(waiting, visit.language), form_of(waiting.question)
        fields: Sequence[FieldView] = ()
        if form is not None:
            fields = view_fields(
                form,
                shown.fields,
                self.entries(waiting),
                None if submitted is None else submitted.filled.get(waiting.id),
                self.prefix(waiting, batch),
                language=visit.language,
                read_as=None if submitted is None else submitted.read_as.get(waiting.id),
                last_answer=waiting.question.hints.last_answer,
                in_zone=self._in_zone(visit.session),
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


def _look_again(parts: Sequence[Part], submitted: Submitted, language: Language) -> dict[str, object]:
    """What needs a second look: the reasons, and the answers that they are about."""
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
