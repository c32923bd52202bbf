"""What the counter does for whoever asks it: tell what waits, and take an answer that comes with the code."""

from __future__ import annotations

import asyncio
from typing import Any, Final, TypeAlias

from handraise.desks.counter.code import Code
from handraise.desks.describe import describe
from handraise.desks.fill import edited
from handraise.desks.queue import ARMED_AFTER, Queue, Verdict
from handraise.desks.sheet import link_of
from handraise.desks.telling import tell
from handraise.desks.waiting import Content, Decision, DeskAnswer, Waiting, desk_answer
from handraise.errors import WireError
from handraise.forms import check_answer
from handraise.policy.secrets import scan_answer
from handraise.questions import Accepted, Cancelled, Declined, FormQuestion, Person
from handraise.wire import parse_answer

DESK: Final = "command"
"""What this desk is called in decisions."""
MOST_LISTED: Final = 100

Message: TypeAlias = dict[str, Any]


class Requests:
    """Answers the requests of one counter. `person` limits it to the questions of one person."""

    def __init__(self, queue: Queue, code: Code, person: Person | None = None) -> None:
        self._queue = queue
        self._code = code
        self._person = person

    async def reply(self, request: object, nonce: str) -> Message:
        """The reply to a visit's one request. One that is none gets a sentence and changes nothing."""
        match request:
            case {"do": "pending"}:
                return self._pending()
            case {
                "do": "answer",
                "id": str(question_id),
                "proof": str(proof),
                "answer": dict(given),
                "anyway": bool(anyway),
            }:
                refusal = await self._refuse(proof, nonce, question_id, given, anyway)
                return refusal or await self._decide(question_id, given, anyway)
            case _:
                return _no("unreadable", "The counter does not know this request.")

    def _pending(self) -> Message:
        mine = [waiting for waiting in self._queue.waiting() if self._is_mine(waiting)]
        return {"pending": [describe(waiting) for waiting in mine[:MOST_LISTED]], "total": len(mine)}

    async def _refuse(
        self, proof: str, nonce: str, question_id: str, given: Message, anyway: bool
    ) -> Message | None:
        """The code comes first, so that nobody without it learns whether an answer would fit."""
        match await self._code.check(proof, nonce, question_id, given, anyway):
            case "right":
                return None
            case "wrong":
                return _no("wrong_code", "That is not the code that the desk shows. Nothing was answered.")
            case "wait":
                return _no("wait", "Too many wrong codes. Wait ten seconds, then try again.")

    async def _decide(self, question_id: str, given: Message, anyway: bool) -> Message:
        waiting = self._queue.find(question_id)
        if waiting is None or not self._is_mine(waiting):
            return self._gone(question_id)
        answer = _read(waiting, given, anyway)
        if not isinstance(answer, Accepted | Declined | Cancelled):
            return answer
        match await self._put(waiting, answer):
            case "taken":
                return {"taken": answer.action, "link": _to_open(waiting, answer)}
            case "needs passkey":
                return _no("needs_passkey", self._queue.needs_passkey)
            case _:
                return self._gone(question_id)

    async def _put(self, waiting: Waiting, answer: DeskAnswer) -> Verdict:
        """Decide. What was written out with its code is no typing ahead: where it comes too soon, it is held back."""
        decision = Decision(answer, desk=DESK, edited=_edited(waiting, answer))
        verdict = self._queue.decide(waiting.id, decision)
        if verdict == "too soon":
            self._queue.show(waiting.id)
            await asyncio.sleep(ARMED_AFTER)
            verdict = self._queue.decide(waiting.id, decision)
        return verdict

    def _gone(self, question_id: str) -> Message:
        ended = self._queue.outcome(question_id)
        if ended is None or not self._is_mine(ended[0]):
            return _no("unknown", "No question with this id waits here.")
        return _no("too_late", f"This question is over. {tell(ended[1]).sentence}")

    def _is_mine(self, waiting: Waiting) -> bool:
        return self._person is None or self._person == waiting.person


def _no(error: str, sentence: str, problems: list[str] | None = None) -> Message:
    return {"error": error, "sentence": sentence, "problems": problems or []}


def _read(waiting: Waiting, given: Message, anyway: bool) -> DeskAnswer | Message:
    """The answer, checked as at every desk; or why it is none."""
    question = waiting.question
    form = question.form if isinstance(question, FormQuestion) else None
    try:
        answer = parse_answer(given, question.mode, form)
    except WireError as error:
        return _no("misfit", "This is no answer to the question. Nothing was sent.", [str(error)])
    if answer.action != "accept":
        return desk_answer(answer.action)
    if form is None:
        return _consent(waiting)
    content: Content = answer.content or {}
    if problems := check_answer(form, content):
        told = [f"{each.field or 'answer'}: {each.message}" for each in problems]
        return _no("misfit", "The answer does not fit the form. Nothing was sent.", told)
    found = scan_answer(content)
    if any(each.tier == 1 for each in found):
        reasons = [each.reason for each in found if each.tier == 1]
        return _no(
            "secret", "This looks like a secret, which a form must not carry. Nothing was sent.", reasons
        )
    if found and not anyway:
        reasons = [each.reason for each in found]
        return _no("personal", "Nothing was sent yet. If this is meant to leave, add --anyway.", reasons)
    return Accepted(content)


def _consent(waiting: Waiting) -> DeskAnswer | Message:
    link = link_of(waiting)
    if not waiting.browsing and (link is None or not link.may_be_opened):
        return _no("danger", "This link is dangerous and cannot be accepted. Decline or cancel it.")
    return Accepted(None)


def _to_open(waiting: Waiting, answer: DeskAnswer) -> str | None:
    """The link that the person agreed to open, for them to open."""
    link = link_of(waiting) if isinstance(answer, Accepted) and not waiting.browsing else None
    return None if link is None else link.href


def _edited(waiting: Waiting, answer: DeskAnswer) -> tuple[str, ...]:
    if isinstance(answer, Accepted) and isinstance(waiting.question, FormQuestion):
        return edited(waiting.question.form, answer.data or {})
    return ()
