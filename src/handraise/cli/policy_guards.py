"""What `handraise policy why --tool` tells: would a guard of the user's ask before this call, and which one?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from handraise.cli.policy_report import Report, own_policy
from handraise.cli.reading import read_document
from handraise.display import for_line
from handraise.errors import WireError
from handraise.forms import load_json
from handraise.gateway.guarding import Rule, question_for, rules_of
from handraise.policy import Policy
from handraise.questions import Origin, Question


def explain_call(source: str | None, tool: str, server: str, hints: str | None) -> Report:
    """What every guard says about a call. `source` has its arguments, `hints` what the tool says about itself."""
    arguments = {} if source is None else _object(read_document(source), "the arguments")
    said = None if hints is None else _object(hints, "--hints")
    policy = own_policy()
    rules = rules_of(policy.settings.guards)
    asked = question_for(rules, server, (tool,), arguments, said)
    return {
        "verdict": "allow" if asked is None else "ask",
        "decided_by": [] if asked is None else [_named(asked.rule)],
        "reasons": ["No guard of yours is for this call."] if asked is None else [],
        "question": None if asked is None else asked.question.message,
        "passkey": None if asked is None else _passkey(policy, asked.question, server),
        "rules": [_said_by(rule, tool, server, arguments, said) for rule in rules],
    }


def call_as_text(report: Report) -> str:
    """The verdict, what you would be asked, and what each guard says."""
    if report["question"] is None:
        lines = ["runs without a question", *(f"  {reason}" for reason in report["reasons"])]
    else:
        lines = [f"asks you first, by {report['decided_by'][0]}"]
        lines += [f"  | {line}".rstrip() for line in report["question"].splitlines()]
        lines += [f"  {report['passkey']}"] if report["passkey"] else []
    if not report["rules"]:
        return "\n".join([*lines, "", "There are no guards in your configuration."])
    lines += ["", "What each guard says (the first one that asks is put to you):"]
    width = max(len(for_line(rule["rule"])) for rule in report["rules"])
    for rule in report["rules"]:
        said = " ".join(rule["reasons"])
        lines.append(f"  {for_line(rule['rule']):<{width}}  {rule['verdict']:<5}  {said}".rstrip())
    return "\n".join(lines)


def _passkey(policy: Policy, question: Question, server: str) -> str | None:
    return policy.judge(policy.facts(question, Origin(server, ""), guard=True)).passkey or None


def _said_by(
    rule: Rule, tool: str, server: str, arguments: Mapping[str, Any], said: Mapping[str, Any] | None
) -> Report:
    guard, count = rule.counting(arguments)
    if not rule.is_for(server):
        why_not: str | None = "It is for other servers."
    else:
        why_not = guard.why_not(tool, said, arguments, count)
    verdict, reasons = ("ask", []) if why_not is None else ("pass", [for_line(why_not)])
    return {"rule": _named(rule), "verdict": verdict, "reasons": reasons}


def _named(rule: Rule) -> str:
    return f"guards.{rule.name}"


def _object(text: str | bytes, what: str) -> dict[str, Any]:
    try:
        value = load_json(text)
    except WireError as error:
        raise typer.BadParameter(f"{what}: {error.message}") from None
    if not isinstance(value, dict):
        raise typer.BadParameter(f'{what} have to be a JSON object, like {{"path": "/tmp/a"}}')
    return value
