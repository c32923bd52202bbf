"""Check a text, a file, or all Python files below some paths, and report findings. Checked code is never run."""

from __future__ import annotations

import io
import json
import re
import textwrap
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handraise.display import for_line
from handraise.errors import UsageError
from handraise.forms import DEFAULT_LIMITS, Limits
from handraise.lint.rules import RULES, UNREADABLE
from handraise.lint.source import Finding, LintMark, LintRule, SourceFile, position_of

_COMMENT = re.compile(r"#.*?\bhandraise:\s*(?P<what>ignore(?:-file)?)\[(?P<codes>[^\]]*)\]")


@dataclass(frozen=True, slots=True)
class IgnoreComments:
    """Rules that comments switch off, in a file or on a line. A code may be the start of several: `HR4`."""

    in_file: frozenset[str]
    by_line: dict[int, frozenset[str]]

    def covers(self, code: str, line: int) -> bool:
        """Whether a finding of this rule on this line is switched off."""
        return any(code.startswith(each) for each in self.in_file | self.by_line.get(line, frozenset()))


def read_ignored(text: str) -> IgnoreComments:
    """The comments of a file. Every one names its rules: there is none that switches all of them off."""
    in_file: set[str] = set()
    by_line: dict[int, frozenset[str]] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        found = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
        if found is None:
            continue
        codes = frozenset(code.strip() for code in found["codes"].split(",") if code.strip())
        if found["what"] == "ignore-file":
            in_file |= codes
        else:
            by_line[token.start[0]] = codes
    return IgnoreComments(frozenset(in_file), by_line)


_LEFT_OUT = {"__pycache__", "node_modules", "site-packages", "build", "dist"}


@dataclass(frozen=True, slots=True)
class RuleSelection:
    """Which rules apply: beginnings of codes. An empty selection means all; an ignored rule is always off."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for prefix in (*self.select, *self.ignore):
            if not prefix or not any(code.startswith(prefix) for code in RULES):
                raise UsageError(f"there is no rule {prefix!r}; `handraise lint --rules` lists them")

    def has(self, code: str) -> bool:
        """Whether a rule applies."""
        return (not self.select or code.startswith(self.select)) and not (
            self.ignore and code.startswith(self.ignore)
        )


EVERYTHING = RuleSelection()
"""Every rule."""


def lint_text(
    text: str,
    path: str = "<text>",
    selection: RuleSelection = EVERYTHING,
    limits: Limits = DEFAULT_LIMITS,
) -> list[Finding]:
    """The findings in a server's source, in source order."""
    try:
        source = SourceFile(text, path, limits)
        ignored = read_ignored(text)
    except (SyntaxError, ValueError, RecursionError, tokenize.TokenError) as error:
        return [_unreadable(path, error)] if selection.has(UNREADABLE) else []
    rules = [rule for rule in RULES.values() if selection.has(rule.code)]
    found = {_finding(source, rule.code, mark) for rule in rules for mark in rule.check(source)}
    return sorted(each for each in found if not ignored.covers(each.code, each.line))


def lint_paths(
    paths: Iterable[Path], selection: RuleSelection = EVERYTHING, limits: Limits = DEFAULT_LIMITS
) -> list[Finding]:
    """The findings in these files, and in the Python files below these folders."""
    findings: list[Finding] = []
    for file in python_files(paths):
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (UnicodeDecodeError, OSError) as error:
            findings += [_unreadable(str(file), error)] if selection.has(UNREADABLE) else []
            continue
        findings += lint_text(text, str(file), selection, limits)
    return findings


def python_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files that paths stand for, each once. Hidden folders and installed packages are left out."""
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise UsageError(f"there is no file or folder {str(path)!r}")
        below = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        for file in below:
            if file not in seen and not _is_left_out(file.relative_to(path)):
                seen.add(file)
                yield file


def _is_left_out(inside: Path) -> bool:
    return any(part.startswith(".") or part in _LEFT_OUT for part in inside.parts)


def _finding(source: SourceFile, code: str, mark: LintMark) -> Finding:
    """Turn a mark into columns of its line. The syntax tree counts bytes, people count characters."""
    node, message = mark
    line, start = position_of(node)
    excerpt = source.lines[line - 1]
    in_bytes = excerpt.encode()
    end = getattr(node, "end_col_offset", 0) if getattr(node, "end_lineno", 0) == line else len(in_bytes)
    column, end_column = (len(in_bytes[:offset].decode()) for offset in (start, end))
    return Finding(source.path, line, column + 1, code, message, end_column, excerpt)


def _unreadable(path: str, error: Exception) -> Finding:
    line = error.lineno or 1 if isinstance(error, SyntaxError) else 1
    column = max(error.offset or 1, 1) if isinstance(error, SyntaxError) else 1
    excerpt = (error.text or "").rstrip("\n") if isinstance(error, SyntaxError) else ""
    reason = error.msg if isinstance(error, SyntaxError) else type(error).__name__
    return Finding(path, line, column, UNREADABLE, f"This file cannot be read: {reason}.", column, excerpt)


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


def dump_json(findings: Sequence[Finding]) -> str:
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


def dump_sarif(findings: Sequence[Finding]) -> str:
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
