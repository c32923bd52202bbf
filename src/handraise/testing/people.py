"""A person for tests: answers that were written beforehand, and what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import mcp_types as types
from mcp.client import ClientRequestContext

from handraise.forms import Form, check_answer
from handraise.questions import Accepted, Answer, FormQuestion, Question
from handraise.revisions import Revision
from handraise.wire import parse_question

Planned: TypeAlias = Answer[Any] | types.ElicitResult


class ScriptedPerson:
    """Gives these answers in order. Asked once more than that, or with an answer that does not fit: the test fails.

    `Accepted(value)` answers a question with one field, such as those of `ask.choose` and `ask.confirm`;
    `Accepted({"name": value, …})` answers any form, and `Accepted(None)` consents to a URL question. An
    `ElicitResult` of the SDK's is sent as it is, whether or not it fits: for what a hostile client may send.
    """

    def __init__(self, *answers: Planned) -> None:
        self._answers = list(answers)
        self.asked: list[Question] = []
        self.surprise: str | None = None
        """Why the test is to fail; the SDK makes an answer to the server of what a callback raises."""

    @property
    def messages(self) -> list[str]:
        """The messages of what was asked, in order."""
        return [question.message for question in self.asked]

    async def __call__(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Answer the next question; what a client of the SDK calls."""
        raw = params.model_dump(mode="json", by_alias=True, exclude_none=True)
        # A link has an id on 2025-11-25 and none on 2026-07-28; forms are read alike.
        without_id = raw.get("mode") == "url" and "elicitationId" not in raw
        question = parse_question(raw, Revision.JULY_2026 if without_id else Revision.NOVEMBER_2025)
        self.asked.append(question)
        try:
            return self.answer(question)
        except AssertionError as surprise:
            self.surprise = self.surprise or str(surprise)
            return types.ErrorData(code=types.INTERNAL_ERROR, message=str(surprise))

    def answer(self, question: Question) -> types.ElicitResult:
        """The next answer, as the wire has it."""
        assert self._answers, f"asked once more than expected: {question.message!r}"
        answer = self._answers.pop(0)
        if isinstance(answer, types.ElicitResult):
            return answer
        if not isinstance(answer, Accepted) or not isinstance(question, FormQuestion):
            return types.ElicitResult(action=answer.action)
        content = _content(answer.data, question.form)
        problems = "; ".join(f"{each.field}: {each.message}" for each in check_answer(question.form, content))
        assert not problems, f"the answer to {question.message!r} does not fit: {problems}"
        return types.ElicitResult(action="accept", content=content)

    def fail_on_surprise(self) -> None:
        """Fail when the script did not expect what was asked; `connect` calls it, whatever else went wrong."""
        assert self.surprise is None, self.surprise

    def fail_on_leftovers(self) -> None:
        """Fail when an answer was not needed; `connect` calls it at the end."""
        assert not self._answers, f"{len(self._answers)} answers were never asked for"


def _content(data: Any, form: Form[Any]) -> dict[str, Any]:
    if isinstance(data, Mapping):
        return dict(data)
    names = [field.name for field in form.fields]
    assert len(names) == 1, f"the form has {len(names)} fields: answer with a mapping of {', '.join(names)}"
    return {names[0]: data}
