"""The ledger's record of one question of a server: asked, decided, used, or another end.

A replayed handler asks its questions again. Each has the id that it had before, and nothing is recorded twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from handraise.calls import RoundRecord
from handraise.calls.ledger_tables import Record
from handraise.calls.rounds import pin_of
from handraise.errors import Expired, HandraiseError, NotSupported, TooManyQuestions, Withdrawn
from handraise.ledger.trail import Trail, shown_question
from handraise.questions import FASTER_THAN_READING, Accepted, FormQuestion, Question, UrlQuestion
from handraise.revisions import Revision
from handraise.server.client_requests import ClientRequest, Unusable
from handraise.urls import inspect_url

if TYPE_CHECKING:
    from handraise.server.recording import Recorder
    from handraise.server.served import ServedCall

_STEM = 14
_ACTIONS = ("accept", "decline", "cancel")


def stem_of(call_id: str) -> str:
    """The common prefix of the ids of a call's questions."""
    return f"q_{hashlib.sha256(call_id.encode()).hexdigest()}"[:_STEM]


def stem_of_question(question: str) -> str:
    """The part of a question's id that identifies its call."""
    return question[:_STEM]


def question_id(call_id: str, key: str, number: int) -> str:
    """The id of a question, the same in every run of its handler: `number` counts those of the same key."""
    own = hashlib.sha256(f"{call_id}\x1f{key}\x1f{number}".encode("utf-8", "surrogatepass"))
    return stem_of(call_id) + own.hexdigest()[:16]


def question_of(record: RoundRecord, key: str) -> str | None:
    """The id of a question in a round; None for a request that asks no person."""
    if (mode := mode_of(record.questions.get(key))) is None:
        return None
    before = [entry for entry in record.journal if entry.key == key and entry.kind in ("answer", "expired")]
    links = {entry.pin for entry in before} - {record.pins.get(key)}  # a link shown again is one question
    return question_id(record.call_id, key, len(links if mode == "url" else before))


def mode_of(request: Any) -> Literal["form", "url"] | None:
    """The mode of an input request; None for a request that asks no person."""
    if request is None or request.get("method") != "elicitation/create":
        return None
    return "url" if request["params"].get("mode") == "url" else "form"


def decision_of(
    trail: Trail, raw: Any, *reasons: str, confirms: str | None = None, seen: bool = True
) -> list[Record]:
    """The events of a client's decision. A decision faster than a person reads is the client's own.

    `confirms` is the one field of a confirmation: with `false` in it the person said no. Unless it was `seen`, nobody
    can have read it.
    """
    action = raw.get("action") if isinstance(raw, Mapping) else None
    if action not in _ACTIONS:
        return []  # not an answer; parsing it will fail later
    url = trail.about.mode == "url"
    content = raw.get("content") if action == "accept" and not url else None
    said_no = _says_no(content, confirms)
    too_fast = trail.seconds is not None and trail.seconds < FASTER_THAN_READING
    by: Literal["client", "human"] = "client" if too_fast or not seen else "human"
    decided = trail.decided(action, by, content=content, reasons=reasons, said_no=said_no)
    return [decided, trail.opened()] if url and action == "accept" else [decided]


def _says_no(content: Any, confirms: str | None) -> bool:
    return confirms is not None and isinstance(content, Mapping) and content.get(confirms) is False


def _allows(raw: Any, confirms: str | None) -> bool:
    """Whether the call may use the answer: a no to a confirmation allows nothing, though it is an accept."""
    return raw["action"] == "accept" and not _says_no(raw.get("content"), confirms)


class QuestionRecord:
    """Records the steps of one question to a person. Asked with another wording, it is another question."""

    def __init__(self, recorder: Recorder, call: ServedCall, request: ClientRequest[Any]) -> None:
        self._recorder = recorder
        self._call = call
        self.request = request
        """The request to the client. A page's is replaced when it has a link."""
        self._key = ""
        self._trail: Trail | None = None
        """Its events, once it is about to be sent."""
        self._number = 0
        """How many questions of the same key the call has asked before."""
        self._shown = ""
        """The digest of the request. A link that is sent again is the same question."""
        self._action: str | None = None
        """The decision, once the handler has it."""
        self.sent: bool = False
        """Whether it was asked here, not by a process that is gone."""

    async def sending(self, key: str, wire: Mapping[str, Any]) -> None:
        """The question is about to be sent. Unless it commits with its round, this is written now."""
        question, call, shown = self.request.question, self._call, pin_of(wire)
        if question is None:
            return
        self._key = key
        if self._trail is None or question.mode != "url":
            self._begin(question, wire, shown)
        is_known = call.journal is not None and call.journal.remembers(key, shown)
        if not call.revision.modern or not (self._recorder.shares or is_known):
            await self._recorder.ledger.record(self.asked())

    def _begin(self, question: Question, wire: Mapping[str, Any], shown: str) -> None:
        call, key = self._call, self._key
        before = call.recordings.get(key)
        again = before is not None and question.mode == "url" and before._shown == shown
        self._number = 0 if before is None else before._number + (not again)
        id_ = question_id(call.identify(), key, self._number) if call.revision.modern else None
        self._trail = self._new_trail(replace(question, message=wire["params"]["message"]), id_)
        self._shown, self._action, self.sent = shown, None, False
        call.recordings[key] = self

    def asked(self) -> Record:
        """The question goes to the client."""
        assert self._trail is not None
        self.sent = True
        return self._trail.asked()

    def decision(self, raw: Any) -> list[Record]:
        """The client brought a decision."""
        if self._trail is None:
            return []
        if isinstance(raw, Mapping) and self._action is not None and raw.get("action") == self._action:
            return []  # a link that is shown again until its page is finished
        return decision_of(self._trail, raw, confirms=self._confirms)

    async def decided(self, raw: Any) -> None:
        """Write the decision to disk before anybody can use it."""
        records = self.decision(raw)
        if self._trail is None or not records:
            return
        if not self._is_news or (self._call.revision.modern and self._recorder.shares):
            records = []
        before, self._action = self._action, raw["action"]
        try:
            await self._write(self._trail, *records, used=_allows(raw, self._confirms))
        except HandraiseError:
            self._action = before
            raise

    async def read(self, result: Any) -> None:
        """The answer was read. If it is unusable, the question is asked again as another question."""
        if self._trail is None or not self._is_news:
            return
        if isinstance(result, Unusable):
            if result.counts:  # the reasons are not recorded: they may repeat the answer
                failed = self._trail.failed("the answer could not be used")
                await self._write(self._trail, failed, used=False)
        elif isinstance(result, Accepted) and self.request.mode == "url" and self.request.wait:
            await self._recorder.write(self._trail.completed())

    async def preanswered(self, raw: Any) -> None:
        """A valid answer came with the call."""
        if (question := self.request.question) is None:
            return
        trail = self._new_trail(question)
        why = "it came with the call and was never shown"
        decided = decision_of(trail, raw, why, confirms=self._confirms, seen=False)
        await self._write(trail, *decided, used=_allows(raw, self._confirms))

    def withdrawn(self) -> None:
        """The call was cancelled. An answer that came before is recorded with the call's end."""
        if self._trail is None or self._action is not None:
            return
        if self._call.is_elsewhere:
            self._recorder.left(self._trail, self._call)
        else:
            self._recorder.ledger.record_soon(self._trail.withdrawn("the call was cancelled"))

    async def ended(self, error: HandraiseError, *, fell_back: bool) -> None:
        """There is no usable answer."""
        if isinstance(error, Withdrawn) and self._call.is_left:  # the client has left
            self.withdrawn()
            return
        record = self._end_by(error, fell_back)
        if record is None:
            return
        if isinstance(error, Withdrawn):  # the handler may end soon
            self._recorder.ledger.record_soon(record)
        else:
            await self._recorder.write(record)

    def _end_by(self, error: HandraiseError, fell_back: bool) -> Record | None:
        question = self.request.question
        if question is None or self._call.is_elsewhere:
            return None
        is_told = self._trail is not None and (
            self._action is not None or (isinstance(error, Expired) and not self.sent)
        )
        if is_told and not fell_back:
            return None
        trail = self._trail or self._new_trail(question)
        if fell_back:
            return trail.failed("nobody could be asked", "the author's fallback was used")
        match error:
            case NotSupported():
                return trail.failed("nobody could be asked", f"{error.mode} mode was not declared")
            case Expired():
                return trail.expired()
            case Withdrawn():
                return trail.withdrawn("the asker went away")
            case TooManyQuestions():
                return trail.refused((error.public,))
            case _:
                return trail.failed(error.public)

    @property
    def _is_news(self) -> bool:
        """Whether this process records the answer; False if it was recorded before."""
        return self.sent or self._key in self._call.responses

    @property
    def _confirms(self) -> str | None:
        """The one field of a confirmation."""
        question = self.request.question
        return question.confirms if isinstance(question, FormQuestion) else None

    async def _write(self, trail: Trail, *records: Record, used: bool) -> None:
        """Write events, and whether the call used the answer. If they cannot be written, it is as before."""
        was_used = trail in self._call.answered
        self._use(trail, used)  # now: the call may end during the write
        if not records:
            return
        try:
            await self._recorder.write(*records)
        except HandraiseError:
            self._use(trail, was_used)
            raise

    def _use(self, trail: Trail, used: bool) -> None:
        """Record a question with the call's end, or not."""
        others = tuple(each for each in self._call.answered if each is not trail)
        self._call.answered = (*others, trail) if used else others

    def _new_trail(self, question: Question, id_: str | None = None) -> Trail:
        call, ledger = self._call, self._recorder.ledger
        # As it was judged when the question was made: a page of this server, on this computer, is no danger.
        link = inspect_url(question.url, transport="stdio") if isinstance(question, UrlQuestion) else None
        try:
            shown = shown_question(question, call.revision, link=link)
        except NotSupported:  # this revision cannot carry it, so it was not shown
            shown = shown_question(question, Revision.JULY_2026, link=link)
        about = self._recorder.about(call.request, question.mode)
        return ledger.trail(id_ or ledger.new_question(), about, shown, until="used", again=id_ is not None)
