"""A question as the params of `elicitation/create`, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

from handraise.errors import NotSupported, UsageError, WireError
from handraise.forms import DEFAULT_LIMITS, Limits, dump_form, parse_form, require_bounded
from handraise.questions import FormQuestion, Question, UrlQuestion
from handraise.revisions import Revision
from handraise.wire.codes import ELICIT


def dump_question(question: Question, revision: Revision) -> dict[str, Any]:
    """The params of a question, with only what the revision knows.

    NotSupported when the revision has no such question; UsageError when 2025-11-25 needs an id for it.
    """
    match question:
        case FormQuestion():
            params: dict[str, Any] = {"message": question.message}
            if question.names_mode and revision is not Revision.JUNE_2025:
                params["mode"] = "form"
            params["requestedSchema"] = dump_form(question.form, revision)
            return params
        case UrlQuestion():
            return _dump_url(question, revision)
        case _:
            assert_never(question)


def dump_input_request(question: Question) -> dict[str, Any]:
    """A question as one of the `inputRequests` of a round on 2026-07-28."""
    return {"method": ELICIT, "params": dump_question(question, Revision.JULY_2026)}


def dump_url_required(questions: Iterable[UrlQuestion]) -> dict[str, Any]:
    """The `data` of a -32042: what has to be done in a browser first. 2025-11-25 only."""
    return {"elicitations": [_dump_url(question, Revision.NOVEMBER_2025) for question in questions]}


def parse_question(params: object, revision: Revision, limits: Limits = DEFAULT_LIMITS) -> Question:
    """The question that some params ask; WireError names the rule that they break.

    Without `mode` it is a form, even when a `url` is there: the spec's own rule.
    """
    if not isinstance(params, dict):
        raise WireError("params", "The params of a question are a JSON object.")
    require_bounded(params, limits)
    message = params.get("message")
    if not isinstance(message, str):
        raise WireError("message", "A question has a message.")
    if len(message) > limits.message:
        raise WireError("message", f"The message has more than {limits.message} characters.")
    mode = params.get("mode", "form")
    if mode == "form":
        form = parse_form(params.get("requestedSchema"), revision, limits)
        return FormQuestion(message, form, names_mode="mode" in params)
    if mode == "url" and revision.url_mode:
        return _parse_url(message, params, revision)
    raise WireError("mode", "The mode is form, or from 2025-11-25 on url.")


def parse_url_required(data: object, limits: Limits = DEFAULT_LIMITS) -> tuple[UrlQuestion, ...]:
    """The links of a -32042. Anything but URL questions among them is refused."""
    elicitations = data.get("elicitations") if isinstance(data, dict) else None
    if not isinstance(elicitations, list) or not elicitations:
        raise WireError("elicitations", "A -32042 lists the URL questions that have to come first.")
    require_bounded(elicitations, limits)
    questions = tuple(parse_question(params, Revision.NOVEMBER_2025, limits) for params in elicitations)
    if not all(isinstance(question, UrlQuestion) for question in questions):
        raise WireError("mode", "A -32042 lists URL questions only.")
    return questions  # type: ignore[return-value]


def _dump_url(question: UrlQuestion, revision: Revision) -> dict[str, Any]:
    if not revision.url_mode:
        raise NotSupported("url", "2025-06-18 has no URL mode")
    params = {"mode": "url", "message": question.message, "url": question.url}
    if revision is Revision.NOVEMBER_2025:
        if question.elicitation_id is None:
            raise UsageError("a URL question needs an elicitation_id on 2025-11-25")
        params["elicitationId"] = question.elicitation_id
    return params


def _parse_url(message: str, params: dict[str, Any], revision: Revision) -> UrlQuestion:
    url = params.get("url")
    if not isinstance(url, str) or not url:
        raise WireError("url", "A URL question has a url.")
    if revision is not Revision.NOVEMBER_2025:
        return UrlQuestion(message, url)
    elicitation_id = params.get("elicitationId")
    if not isinstance(elicitation_id, str) or not elicitation_id:
        raise WireError("elicitation_id", "On 2025-11-25 a URL question has an elicitationId.")
    return UrlQuestion(message, url, elicitation_id)
