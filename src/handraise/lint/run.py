"""Check a text, a file, or all Python files below some paths. Nothing of it is imported or run."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from handraise.errors import UsageError
from handraise.forms import DEFAULT_LIMITS, Limits
from handraise.lint.finding import Finding, LintMark
from handraise.lint.rules import RULES, UNREADABLE
from handraise.lint.source import SourceFile, position_of

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
    """A mark as columns of its first line: the tree counts bytes, people count characters."""
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
