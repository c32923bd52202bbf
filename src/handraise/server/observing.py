"""One question of a server as the ledger sees it: asked, decided, used, or how else it ended.

A body that is run again asks its questions again. Each has the id that it had before, and what was recorded of it by a
process that is gone is not recorded once more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from handraise.conversation.digest import digest
from handraise.conversation.recorded import Record
from handraise.errors import Expired, HandraiseError, Mode, NotSupported, TooManyQuestions, Withdrawn
from handraise.ledger.trail import Trail, shown_of
from handraise.questions import Accepted, FormQuestion, Question, UrlQuestion
from handraise.revisions import Revision
from handraise.server.calls import Call
from handraise.server.inquiries import Inquiry, Unusable
from handraise.urls import inspect_url

if TYPE_CHECKING:
    from handraise.server.recording import Recorder

_STEM = 14
_ACTIONS = ("accept", "decline", "cancel")


def stem_of(conversation: str) -> str:
    """What the ids of all questions of a conversation begin with."""
    return f"q_{hashlib.sha256(conversation.encode()).hexdigest()}"[:_STEM]


def stem_of_question(question: str) -> str:
    """What tells the conversation that a question belongs to."""
    return question[:_STEM]


def question_id(conversation: str, key: str, number: int) -> str:
    """The id of a question, the same in every run of its body: `number` counts those of the same key."""
    own = hashlib.sha256(f"{conversation}\x1f{key}\x1f{number}".encode("utf-8", "surrogatepass"))
    return stem_of(conversation) + own.hexdigest()[:16]


def decision_of(trail: Trail, raw: Any, *reasons: str) -> list[Record]:
    """What the client decided; who made the decision there, only the client knows."""
    action = raw.get("action") if isinstance(raw, Mapping) else None
    if action not in _ACTIONS:
        return []  # it is no answer, and reading it will say so
    url = trail.about.mode == "url"
    content = raw.get("content") if action == "accept" and not url else None
    decided = trail.decided(action, "human", content=content, reasons=reasons)
    return [decided, trail.opened()] if url and action == "accept" else [decided]


class Recording:
    """The record of one question."""

    def __init__(self, trail: Trail, number: int, shown: str) -> None:
        self.trail = trail
        self.number = number
        """How many questions of the same key the call has asked before."""
        self.shown = shown
        """The digest of what was sent. A link that is sent again is the same question."""
        self.sent: bool = False
        """Whether it was asked here, not by a process that is gone."""
        self.action: str | None = None
        """What was decided, once the body has it."""

    def asked(self) -> Record:
        """It goes to the client."""
        self.sent = True
        return self.trail.asked()

    def decision(self, raw: Any) -> list[Record]:
        """The client brought a decision."""
        if isinstance(raw, Mapping) and self.action is not None and raw.get("action") == self.action:
            return []  # a link that is shown again until its page is finished
        return decision_of(self.trail, raw)


class Observed:
    """An inquiry whose steps are recorded, if it is one to a person."""

    def __init__(self, recorder: Recorder, call: Call, inquiry: Inquiry[Any]) -> None:
        self.key = ""
        self._recorder = recorder
        self._call = call
        self._inquiry = inquiry
        self._recording: Recording | None = None

    @property
    def mode(self) -> Mode:
        return self._inquiry.mode

    @property
    def content(self) -> object:
        return self._inquiry.content

    async def begin(self, call: Call, timeout: float) -> Observed:
        self._inquiry = await self._inquiry.begin(call, timeout)
        return self

    def request(self, revision: Revision, reasons: Sequence[str] = ()) -> dict[str, Any]:
        """The input request. It is sent right after this, each time: in other words it is another question."""
        request = self._inquiry.request(revision, reasons)
        question = self._question
        if question is not None and (self._recording is None or question.mode == "form"):
            before = self._call.recordings.get(self.key)
            shown = digest(request)
            again = before is not None and question.mode == "url" and before.shown == shown
            number = 0 if before is None else before.number + (not again)
            conversation = self._call.conversation_id()
            id_ = None if conversation is None else question_id(conversation, self.key, number)
            told = replace(question, message=request["params"]["message"])
            self._recording = Recording(self._trail(told, id_), number, shown)
            self._call.recordings = {**self._call.recordings, self.key: self._recording}
        return request

    async def read(self, raw: Any, call: Call) -> Any:
        if self._question is None:
            return await self._inquiry.read(raw, call)
        if self._recording is None:
            return await self._read_what_came_along(raw, self._question)
        recording = self._recording
        here = recording.sent or self.key in call.brought  # if not, all of it was recorded before
        await self._decided(recording, raw, here)
        result = await self._inquiry.read(raw, call)
        if isinstance(result, Unusable):
            if here and result.counts:
                await self._unusable(recording)
        elif here and isinstance(result, Accepted) and self._leads_somewhere:
            await self._write(recording.trail.completed())
        return result

    def withdrawn(self) -> None:
        """The call was cancelled; an answer that came before is told of with the call's end."""
        recording = self._recording
        if recording is None or recording.action is not None:
            return
        if self._call.goes_on_elsewhere:
            self._recorder.left(recording.trail, self._call)
        else:
            self._recorder.ledger.record_soon(recording.trail.withdrawn("the call was cancelled"))

    async def ended(self, error: HandraiseError) -> None:
        """Nobody answered, or the answer was of no use."""
        record = self._end_by(error)
        if record is None:
            return
        if isinstance(error, Withdrawn):  # nobody is there, and who knows how much longer the body is
            self._recorder.ledger.record_soon(record)
        else:
            await self._write(record)

    def _end_by(self, error: HandraiseError) -> Record | None:
        if self._question is None or self._call.goes_on_elsewhere:
            return None
        recording = self._recording
        if recording is not None and (
            recording.action is not None or (isinstance(error, Expired) and not recording.sent)
        ):
            return None
        trail = self._trail(self._question) if recording is None else recording.trail
        match error:
            case NotSupported():
                return trail.failed("nobody could be asked", f"{self.mode} mode was not declared")
            case Expired():
                return trail.expired()
            case Withdrawn():
                return trail.withdrawn("the asker went away")
            case TooManyQuestions():
                return trail.refused((error.public,))
            case _:
                return trail.failed(error.public)

    async def fell_back(self) -> None:
        """The client cannot be asked, and the author had thought of that."""
        if self._question is not None:
            trail = self._trail(self._question) if self._recording is None else self._recording.trail
            await self._write(trail.failed("nobody could be asked", "the author's fallback was used"))

    async def _decided(self, recording: Recording, raw: Any, here: bool) -> None:
        """Have the decision on disk before anybody can use it."""
        records = recording.decision(raw)
        if not records:
            return
        before = recording.action
        self._decide(recording, raw["action"])  # now: a call that ends during the write has to tell of it
        if here and not (self._call.revision.modern and self._recorder.shares):
            try:
                await self._write(*records)
            except HandraiseError:
                self._decide(recording, before)
                raise

    def _decide(self, recording: Recording, action: str | None) -> None:
        recording.action = action
        self._use(recording.trail, action == "accept")

    def _use(self, trail: Trail, used: bool) -> None:
        """Have the call's end tell of a question, or not."""
        others = tuple(each for each in self._call.answered if each is not trail)
        self._call.answered = (*others, trail) if used else others

    async def _read_what_came_along(self, raw: Any, question: Question) -> Any:
        result = await self._inquiry.read(raw, self._call)
        trail = self._trail(question)
        records = decision_of(trail, raw, "it came with the call and was never shown")
        if not isinstance(result, Unusable):
            self._use(trail, raw["action"] == "accept")
            try:
                await self._write(*records)
            except HandraiseError:
                self._use(trail, False)
                raise
        return result

    async def _unusable(self, recording: Recording) -> None:
        """The answer is asked for again, in another question. Why may repeat what was answered: it stays here."""
        self._use(recording.trail, False)
        try:
            await self._write(recording.trail.failed("the answer could not be used"))
        except HandraiseError:
            self._use(recording.trail, recording.action == "accept")
            raise

    async def _write(self, *records: Record) -> None:
        await self._recorder.write(*records)

    @property
    def _question(self) -> Question | None:
        question = getattr(self._inquiry, "question", None)  # roots and the model are asked of nobody
        return question if isinstance(question, FormQuestion | UrlQuestion) else None

    @property
    def _leads_somewhere(self) -> bool:
        """Whether an answer means that something was finished in the browser."""
        return self.mode == "url" and getattr(self._inquiry, "wait", True)

    def _trail(self, question: Question, id_: str | None = None) -> Trail:
        call, ledger = self._call, self._recorder.ledger
        link = inspect_url(question.url) if isinstance(question, UrlQuestion) else None
        try:
            shown = shown_of(question, call.revision, link=link)
        except (
            NotSupported
        ):  # this revision has no words for it: it was not shown, and would have been like this
            shown = shown_of(question, Revision.JULY_2026, link=link)
        about = self._recorder.about(call.ctx, call.person, call.revision, question.mode)
        again = id_ is not None
        return ledger.trail(id_ or ledger.new_question(), about, shown, until="used", again=again)
