"""A desk for tests and examples: answers that were written beforehand, and a loud failure for anything else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from handraise.desks.fill import edited
from handraise.desks.queue import Queue
from handraise.desks.waiting import Decision, DeskAnswer, Waiting
from handraise.errors import UsageError
from handraise.forms import check_answer
from handraise.questions import Accepted, Cancelled, Declined, FormQuestion

_ACTIONS = ("accept", "decline", "cancel", "leave")


class UnexpectedQuestion(UsageError):
    """The script has no answer for what was asked, or one that does not fit."""

    code = "unexpected_question"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a script: which question it is for, and what is answered.

    `message` is looked for in the question's message and `fields` have to be in its form; a line that
    names neither fits the next question, whatever it is. `leave` lets the question wait.
    """

    action: str
    content: Mapping[str, Any] | None = None
    message: str | None = None
    fields: tuple[str, ...] = ()
    repeat: bool = False

    def fits(self, waiting: Waiting) -> bool:
        """Whether this line answers that question."""
        question = waiting.question
        if self.message is not None and self.message not in question.message:
            return False
        if not self.fields:
            return True
        return isinstance(question, FormQuestion) and set(self.fields) <= {
            f.name for f in question.form.fields
        }


class ScriptedDesk:
    """Answers every question of a queue from a script."""

    def __init__(self, queue: Queue, script: Sequence[Line]) -> None:
        self._queue = queue
        self._script = list(script)
        self.seen: list[Waiting] = []

    async def run(self) -> None:
        """Answer what waits, until cancelled. Raises `UnexpectedQuestion` when the script has no line for it."""
        async for came, _ in self._queue.news():
            for question in came:
                self._answer(question)

    def _answer(self, waiting: Waiting) -> None:
        self.seen.append(waiting)
        line = next((line for line in self._script if line.fits(waiting)), None)
        if line is None and not waiting.can_be_declined:
            return  # it comes only when a browser takes its time, and goes by itself
        if line is None:
            raise UnexpectedQuestion(f"no line of the script answers: {waiting.question.message!r}")
        if not line.repeat:
            self._script.remove(line)
        if line.action == "leave":
            return
        if self._queue.decide(waiting.id, _decision(line, waiting)) == "needs passkey":
            raise UnexpectedQuestion(
                f"no script can accept this, because it needs a passkey: {waiting.question.message!r}"
            )


def _decision(line: Line, waiting: Waiting) -> Decision:
    answer, question = _answer(line, waiting), waiting.question
    changed = edited(question.form, line.content or {}) if isinstance(question, FormQuestion) else ()
    return Decision(answer, by="agent", desk="script", edited=changed)


def _answer(line: Line, waiting: Waiting) -> DeskAnswer:
    if line.action == "decline":
        return Declined()
    if line.action == "cancel":
        return Cancelled()
    question = waiting.question
    if not isinstance(question, FormQuestion):
        return Accepted(None)
    content = dict(line.content or {})
    if problems := check_answer(question.form, content):
        listed = "; ".join(f"{problem.field}: {problem.message}" for problem in problems)
        raise UnexpectedQuestion(f"the script's answer to {question.message!r} does not fit: {listed}")
    return Accepted(content)


_LIKE: Final = (
    'One is a file like [{"action": "accept", "content": {"answer": "Ada"}}, {"action": "decline"}]'
)


def read_script(path: Path) -> list[Line]:
    """The lines of a JSON file: a list of objects with `action`, `content`, `message`, `fields`, `repeat`."""
    try:
        raw = json.loads(path.read_text())
        lines = [Line(**{**item, "fields": tuple(item.get("fields", ()))}) for item in raw]
    except OSError as error:
        raise UsageError(f"the script {path} cannot be read: {error.strerror}. {_LIKE}") from error
    except (ValueError, TypeError) as error:
        raise UsageError(f"{path} is no script: {error}. {_LIKE}") from error
    if wrong := [line.action for line in lines if line.action not in _ACTIONS]:
        raise UsageError(f"{path}: the action is {', '.join(_ACTIONS)}, not {wrong[0]!r}")
    return lines
