"""Findings for people, for programs, and for code-scanning services."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import Any

from handraise.display import for_line
from handraise.lint.finding import Finding, LintRule
from handraise.lint.rules import RULES

_WIDTH = 78
_EXCERPT = 74


def as_text(findings: Sequence[Finding]) -> str:
    """Each finding with its line and a caret below the place, and the number of them."""
    shown = [_shown(finding) for finding in findings]
    files = len({finding.path for finding in findings})
    total = (
        f"{_number(len(findings), 'finding')} in {_number(files, 'file')}." if findings else "Nothing found."
    )
    hint = [f"`handraise lint --explain {findings[0].code}` says why, and how to fix it."] if findings else []
    return "\n".join([*shown, total, *hint])


def as_json(findings: Sequence[Finding]) -> str:
    """One JSON object, with the rules that were broken."""
    return json.dumps(
        {
            "ok": not findings,
            "findings": [
                {
                    "code": each.code,
                    "rule": RULES[each.code].title,
                    "message": each.message,
                    "path": each.path,
                    "line": each.line,
                    "column": each.column,
                    "end_column": each.end_column,
                    "fix": RULES[each.code].fix,
                }
                for each in findings
            ],
        }
    )


def as_sarif(findings: Sequence[Finding]) -> str:
    """A SARIF 2.1.0 log, which code-scanning services read."""
    rules = [
        {
            "id": rule.code,
            "name": rule.title,
            "shortDescription": {"text": rule.sentence},
            "fullDescription": {"text": rule.why},
            "help": {"text": rule.fix},
        }
        for rule in RULES.values()
    ]
    run = {
        "tool": {"driver": {"name": "handraise", "rules": rules}},
        "results": [_sarif_result(each) for each in findings],
        "columnKind": "unicodeCodePoints",
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]})


def rules_table() -> str:
    """Every rule in one line."""
    return "\n".join(f"{rule.code}  {rule.title}" for rule in RULES.values())


def explained(rule: LintRule) -> str:
    """One rule at length: what, why, how to fix it, and code that shows it."""
    parts = [
        f"{rule.code}  {rule.title}",
        _wrapped(rule.sentence),
        _wrapped(rule.why),
        _wrapped(f"To fix it: {rule.fix}"),
        "Wrong:\n\n" + textwrap.indent(rule.wrong.strip("\n"), "    "),
        "Right:\n\n" + textwrap.indent(rule.right.strip("\n"), "    "),
        f"To keep it: end the line with `# handraise: ignore[{rule.code}]`.",
    ]
    return "\n\n".join(parts)


def _shown(finding: Finding) -> str:
    """Where and what, the line with a caret below the place, and the sentence.

    The source is someone's file: it is shown inert, and cut around the place when it is long.
    """
    start = max(0, finding.column - 1 - _EXCERPT // 2) if len(finding.excerpt) > _EXCERPT else 0
    excerpt = finding.excerpt[start : start + _EXCERPT].replace("\t", " ")
    left = excerpt[: finding.column - 1 - start]
    stripped = len(left) - len(left.lstrip())
    width = max(1, min(finding.end_column, start + len(excerpt)) - finding.column + 1)
    lines = [
        f"{for_line(finding.path)}:{finding.line}:{finding.column}: {finding.code} {RULES[finding.code].title}",
        f"    {for_line(excerpt[stripped:])}",
        f"    {' ' * len(for_line(left[stripped:]))}{'^' * width}",
        textwrap.indent(_wrapped(for_line(finding.message), _EXCERPT), "    "),
    ]
    return "\n".join(lines) + "\n"


def _sarif_result(finding: Finding) -> dict[str, Any]:
    region = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endColumn": finding.end_column + 1,
    }
    place = {"artifactLocation": {"uri": finding.path.replace("\\", "/")}, "region": region}
    return {
        "ruleId": finding.code,
        "level": "warning",
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
    }


def _wrapped(text: str, width: int = _WIDTH) -> str:
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def _number(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
