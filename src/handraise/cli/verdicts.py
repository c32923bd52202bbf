"""What `check` finds: the verdict on a question, and whether an answer is good. Nothing is printed here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from handraise.errors import WireError
from handraise.forms import Problem, check_answer, check_form, load_json, parse_form
from handraise.questions import FormQuestion
from handraise.revisions import Revision
from handraise.wire import parse_question

if TYPE_CHECKING:
    from handraise.policy.secrets import SecretFinding

Report: TypeAlias = dict[str, Any]
"""What is printed as JSON."""


def judge_question(text: str | bytes, revision: Revision) -> Report:
    """May a person be asked this? The verdict on the params of an `elicitation/create`, and why."""
    params: object = None
    try:
        params = load_json(text)
        question = parse_question(params, revision)
        if not isinstance(question, FormQuestion):
            raise WireError("mode", "This is a URL question, not a form.")
    except WireError as error:
        problems = _and_the_others(error, params, revision)
        return {"verdict": "refuse", "problems": list(map(_plain, problems)), "secrets": []}
    secrets = _secrets_asked_for(question)
    tiers = {secret["tier"] for secret in secrets}
    verdict = "refuse" if 1 in tiers else "warn" if tiers else "allow"
    return {"verdict": verdict, "problems": [], "secrets": secrets}


def judge_answer(text: str | bytes, revision: Revision) -> Report:
    """May this be sent? Whether the content of `{"requestedSchema", "content"}` is a good answer."""
    asked: object = None
    content: object = None
    try:
        given = load_json(text)
        if not isinstance(given, dict):
            raise WireError("json", 'The input is {"requestedSchema": …, "content": …}.')
        asked, content = given.get("requestedSchema"), given.get("content")
        problems = check_answer(parse_form(asked, revision), content)
    except WireError as error:
        problems = _and_the_others(error, {"requestedSchema": asked}, revision)
    secrets = _secrets_in(content)
    ok = not problems and all(secret["tier"] != 1 for secret in secrets)
    return {"ok": ok, "problems": list(map(_plain, problems)), "secrets": secrets}


def is_refused(report: Report) -> bool:
    """Whether a report says no."""
    return report.get("verdict") == "refuse" or report.get("ok") is False


def _and_the_others(error: WireError, params: object, revision: Revision) -> tuple[Problem, ...]:
    """The problem that ended the reading, and whatever else is wrong with the fields."""
    first = Problem(error.field, error.rule, error.message, "object")
    if not isinstance(params, dict) or "requestedSchema" not in params:
        return (first,)
    fields = check_form(params["requestedSchema"], revision)
    if any((problem.field, problem.rule) == (first.field, first.rule) for problem in fields):
        return fields
    return (first, *fields)


def _plain(problem: Problem) -> dict[str, str | None]:
    return {"rule": problem.rule, "field": problem.field, "message": problem.message}


def _secrets_asked_for(question: FormQuestion[Any]) -> list[dict[str, Any]]:
    from handraise.policy.secrets import judge_form

    return [_secret(finding) for finding in judge_form(question.message, question.form)]


def _secrets_in(content: object) -> list[dict[str, Any]]:
    from handraise.policy.secrets import scan_answer

    return [_secret(finding) for finding in scan_answer(content)] if isinstance(content, dict) else []


def _secret(finding: SecretFinding) -> dict[str, Any]:
    return {"field": finding.field, "tier": finding.tier, "kind": finding.kind}
