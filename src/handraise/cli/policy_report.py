"""The output of `handraise policy`: settings, explanations and rules, as text for people and JSON for machines."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import typer

from handraise.cli.common import read_document
from handraise.display import for_line
from handraise.errors import WireError
from handraise.forms import load_json
from handraise.gateway.guards import GuardRule, question_for, rules_of
from handraise.policy import OwnRule, Policy, PolicyRuling, Settings, load_policy, load_settings
from handraise.policy.files import RULES_NAME, OwnRules
from handraise.policy.places import ConfigFile, data_directory, find_config
from handraise.policy.rules import MAY, SESSION
from handraise.policy.settings import (
    SETTINGS,
    AskingRule,
    GuardSettings,
    LimitSettings,
    ServerSettings,
    value_of,
)
from handraise.questions import Origin, Question
from handraise.revisions import Revision
from handraise.wire import parse_question

PolicyReport: TypeAlias = dict[str, Any]


def configuration() -> tuple[ConfigFile | None, Settings]:
    """The configuration file and its settings."""
    return find_config(os.environ, Path()), load_settings()


def rules_file() -> OwnRules:
    """This user's own rules."""
    return OwnRules(data_directory(os.environ) / RULES_NAME)


def explain(
    source: str | None, server: str, target: str, revision: Revision, now: float, *, shared: bool = False
) -> PolicyReport:
    """Each rule's ruling on a question; `shared`: at a desk that several people share."""
    text = read_document(source)
    try:
        question = parse_question(load_json(text), revision)
    except WireError as error:
        reason = f"{'' if error.field is None else error.field + ': '}{error.message}"
        ruling = PolicyRuling("refuse", (reason,), (f"protocol.{error.rule}",))
        return _explained(ruling, [(ruling.rules[0], ruling)])
    policy = own_policy()
    facts = policy.facts(question, Origin(server, target), now=now, shared=shared)
    return _explained(policy.judge(facts), policy.explain(facts))


def explained_as_text(report: PolicyReport) -> str:
    """The verdict, then its reasons, then what each rule says."""
    lines = [f"{report['verdict']}{_decided_by(report['decided_by'])}"]
    lines += [f"  {for_line(reason)}" for reason in report["reasons"]]
    lines += [f"  {report['passkey']}"] if report["passkey"] else []
    lines += ["", "Rulings, rule by rule:"]
    width = max(len(rule["rule"]) for rule in report["rules"])
    for rule in report["rules"]:
        reasons = " ".join(map(for_line, rule["reasons"]))
        lines.append(f"  {rule['rule']:<{width}}  {rule['verdict']:<6}  {reasons}".rstrip())
    return "\n".join(lines)


def settings_as_json(found: ConfigFile | None, settings: Settings) -> PolicyReport:
    """All settings by their keys, and the file they are from."""
    values = {key: value for key, value, _ in _values(settings)}
    return {
        "file": None if found is None else str(found.path),
        "unsafe": settings.unsafe(),
        "settings": values,
    }


def settings_as_toml(found: ConfigFile | None, settings: Settings) -> str:
    """The current settings as a configuration file, with explanations."""
    lines = ["# No configuration file: these are the defaults." if found is None else f"# From {found.path}"]
    table = ""
    for key, value, meaning in _values(settings):
        above, _, name = key.rpartition(".")
        if above != table:
            lines += ["", f"[{above}]"]
            table = above
        lines += [f"# {meaning}"] if meaning else []
        lines.append(f"{name} = {_toml(value)}")
    return "\n".join(lines)


def make_rule(server: str, asking: AskingRule, session: bool, now: float) -> OwnRule:
    """Make a rule and keep it."""
    if not server.strip() or not server.isprintable() or len(server) > 200:
        raise typer.BadParameter("a server's name is printable text of at most 200 characters")
    rule = OwnRule(server, asking, made=now, until=now + SESSION if session else None)
    rules_file().add(rule, keep=True)
    return rule


def rule_as_json(rule: OwnRule) -> PolicyReport:
    """One rule."""
    return {"server": rule.server, "asking": rule.asking, "until": rule.until}


def rule_as_text(rule: OwnRule) -> str:
    """One rule, as a sentence."""
    until = (
        ""
        if rule.until is None
        else f" (until {datetime.fromtimestamp(rule.until, UTC).astimezone():%H:%M %d %b})"
    )
    return f"{for_line(rule.server)} {MAY[rule.asking]}{until}."


def rules_as_json(rules: Sequence[OwnRule], settings: Settings) -> PolicyReport:
    """The person's own rules, and those of the file."""
    named = {name: each.asking for name, each in settings.servers.items() if each.asking is not None}
    return {"own": [rule_as_json(rule) for rule in rules], "file": named, "default": settings.default}


def rules_as_text(rules: Sequence[OwnRule], found: ConfigFile | None, settings: Settings) -> str:
    """The person's own rules, and those of the file."""
    lines = ["Your own rules:" if rules else "You have made no rules of your own."]
    lines += [f"  {rule_as_text(rule)}" for rule in rules]
    named = [(name, each.asking) for name, each in settings.servers.items() if each.asking is not None]
    if found is not None and named:
        lines += [f"{found.path}:", *(f"  {for_line(name)} {MAY[asking]}." for name, asking in named)]
    return "\n".join([*lines, f"Any other server {MAY[settings.default]}."])


def own_policy() -> Policy:
    """The user's policy; its warnings about unsafe switches become plain lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        policy = load_policy()
    for warning in caught:
        typer.echo(f"warning: {warning.message}", err=True)
    return policy


def _explained(ruling: PolicyRuling, rules: Sequence[tuple[str, PolicyRuling]]) -> PolicyReport:
    each = [
        {"rule": name, "verdict": said.verdict, "reasons": [*said.reasons, *filter(None, [said.passkey])]}
        for name, said in rules
    ]
    return {
        "verdict": ruling.verdict,
        "decided_by": list(ruling.rules),
        "reasons": list(ruling.reasons),
        "passkey": ruling.passkey or None,
        "rules": each,
    }


def _decided_by(rules: list[str]) -> str:
    return f", by {' and '.join(rules)}" if rules else ": no rule objects"


def _values(settings: Settings) -> list[tuple[str, object, str]]:
    """Key, value and meaning of everything that is set, in the order of the documentation."""
    common = [(s.key, value_of(settings, s.key), s.meaning) for s in SETTINGS if ".NAME." not in s.key]
    servers = [each for name, own in settings.servers.items() for each in _of_server(name, own, settings)]
    guards = [
        (f"guards.{json.dumps(name, ensure_ascii=False)}.{field}", getattr(own, field), "")
        for name, own in settings.guards.items()
        for field in GuardSettings.__slots__
        if getattr(own, field) is not None
    ]
    return common + servers + guards


def _of_server(name: str, own: ServerSettings, settings: Settings) -> list[tuple[str, object, str]]:
    at = f"servers.{json.dumps(name, ensure_ascii=False)}"
    asking = [] if own.asking is None else [(f"{at}.asking", own.asking, "")]
    changed = [
        (f"{at}.limits.{field}", getattr(own.limits, field), "")
        for field in LimitSettings.__slots__
        if getattr(own.limits, field) != getattr(settings.limits, field)
    ]
    return [*asking, *changed]


def _toml(value: object) -> str:
    """A value in TOML. All settings' values have the same form in JSON."""
    return json.dumps(value, ensure_ascii=False)


def explain_call(source: str | None, tool: str, server: str, hints: str | None) -> PolicyReport:
    """Each guard's verdict on a call. `source` has its arguments, `hints` what the tool says about itself."""
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


def call_as_text(report: PolicyReport) -> str:
    """The verdict, your question, and each guard's verdict."""
    if report["question"] is None:
        lines = ["runs without a question", *(f"  {reason}" for reason in report["reasons"])]
    else:
        lines = [f"asks you first, by {report['decided_by'][0]}"]
        lines += [f"  | {line}".rstrip() for line in report["question"].splitlines()]
        lines += [f"  {report['passkey']}"] if report["passkey"] else []
    if not report["rules"]:
        return "\n".join([*lines, "", "There are no guards in your configuration."])
    lines += ["", "Guards, one by one (the first one that asks is put to you):"]
    width = max(len(for_line(rule["rule"])) for rule in report["rules"])
    for rule in report["rules"]:
        said = " ".join(rule["reasons"])
        lines.append(f"  {for_line(rule['rule']):<{width}}  {rule['verdict']:<5}  {said}".rstrip())
    return "\n".join(lines)


def _passkey(policy: Policy, question: Question, server: str) -> str | None:
    return policy.judge(policy.facts(question, Origin(server, ""), guard=True)).passkey or None


def _said_by(
    rule: GuardRule, tool: str, server: str, arguments: Mapping[str, Any], said: Mapping[str, Any] | None
) -> PolicyReport:
    guard, count = rule.counting(tool, arguments)
    if not rule.is_for(server):
        why_not: str | None = "It is for other servers."
    else:
        why_not = guard.why_not(tool, said, arguments, count)
    verdict, reasons = ("ask", []) if why_not is None else ("pass", [for_line(why_not)])
    return {"rule": _named(rule), "verdict": verdict, "reasons": reasons}


def _named(rule: GuardRule) -> str:
    return f"guards.{rule.name}"


def _object(text: str | bytes, what: str) -> dict[str, Any]:
    try:
        value = load_json(text)
    except WireError as error:
        raise typer.BadParameter(f"{what}: {error.message}") from None
    if not isinstance(value, dict):
        raise typer.BadParameter(f'{what} have to be a JSON object, like {{"path": "/tmp/a"}}')
    return value
