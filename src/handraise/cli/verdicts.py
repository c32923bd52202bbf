"""The findings of `check`: the verdict on a question, and whether an answer is good. Nothing is printed here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from handraise.errors import WireError
from handraise.forms import Form, Problem, check_answer, check_form, load_json, parse_form
from handraise.questions import FormQuestion
from handraise.revisions import Revision
from handraise.wire import parse_question

if TYPE_CHECKING:
    from handraise.secrets import SecretFinding

CheckReport: TypeAlias = dict[str, Any]
"""The JSON output."""


def judge_question(text: str | bytes, revision: Revision) -> CheckReport:
    """May a person be asked this? The verdict on the params of an `elicitation/create`, and why.

    A list is the questions of one call, in their order: each is judged with what was asked before it.
    """
    from handraise.secrets import CallReading

    params: object = None
    reading, secrets = CallReading(), []
    try:
        given = load_json(text)
        for params in given if isinstance(given, list) else [given]:
            question = parse_question(params, revision)
            if not isinstance(question, FormQuestion):
                raise WireError("mode", "This is a URL question, not a form.")
            secrets += [_secret(finding) for finding in reading.judge(question.message, question.form)]
    except WireError as error:
        problems = _and_the_others(error, params, revision)
        return {"verdict": "refuse", "problems": list(map(_plain, problems)), "secrets": []}
    return {"verdict": _verdict(secrets), "problems": [], "secrets": secrets}


def _verdict(secrets: list[dict[str, Any]]) -> str:
    """The policy's verdict without a configuration. A doubt outweighs a certain warning."""
    if any(secret["tier"] == 1 for secret in secrets):
        return "refuse"
    if any(secret["doubtful"] for secret in secrets):
        return "doubtful"
    return "warn" if secrets else "allow"


def judge_answer(text: str | bytes, revision: Revision) -> CheckReport:
    """May this be sent? Whether the content of `{"requestedSchema", "content"}` is a good answer."""
    asked: object = None
    content: object = None
    form: Form[Any] | None = None
    try:
        given = load_json(text)
        if not isinstance(given, dict):
            raise WireError("json", 'The input is {"requestedSchema": …, "content": …}.')
        asked, content = given.get("requestedSchema"), given.get("content")
        form = parse_form(asked, revision)
        problems = check_answer(form, content)
    except WireError as error:
        problems = _and_the_others(error, {"requestedSchema": asked}, revision)
    secrets = _secrets_in(content, form)
    ok = not problems and all(secret["tier"] != 1 for secret in secrets)
    return {"ok": ok, "problems": list(map(_plain, problems)), "secrets": secrets}


def is_refused(report: CheckReport) -> bool:
    """Whether a report says no."""
    return report.get("verdict") == "refuse" or report.get("ok") is False


def _and_the_others(error: WireError, params: object, revision: Revision) -> tuple[Problem, ...]:
    """The problem that ended the parsing, and the problems of other fields."""
    first = Problem(error.field, error.rule, error.message, "object")
    if not isinstance(params, dict) or "requestedSchema" not in params:
        return (first,)
    fields = check_form(params["requestedSchema"], revision)
    if any((problem.field, problem.rule) == (first.field, first.rule) for problem in fields):
        return fields
    return (first, *fields)


def _plain(problem: Problem) -> dict[str, str | None]:
    return {"rule": problem.rule, "field": problem.field, "message": problem.message}


def _secrets_in(content: object, form: Form[Any] | None) -> list[dict[str, Any]]:
    from handraise.secrets import scan_answer

    return [_secret(finding) for finding in scan_answer(content, form)] if isinstance(content, dict) else []


def _secret(finding: SecretFinding) -> dict[str, Any]:
    return {
        "field": finding.field,
        "tier": finding.tier,
        "kind": finding.kind,
        "doubtful": finding.doubtful,
        "reason": finding.reason,
        "words": list(finding.words),
    }
