"""Check a text, a file, or whatever Python there is below some paths. Nothing of it is imported or run."""

from __future__ import annotations

import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from handraise.errors import UsageError
from handraise.lint.comments import read_ignored
from handraise.lint.finding import Finding, Mark
from handraise.lint.rules import RULES, UNREADABLE
from handraise.lint.source import Source, place

_LEFT_OUT = {"__pycache__", "node_modules", "site-packages", "build", "dist"}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rules apply: beginnings of codes. Nothing selected means all; what is ignored is off in any case."""

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


EVERYTHING = Selection()
"""Every rule."""


def lint_text(text: str, path: str = "<text>", selection: Selection = EVERYTHING) -> list[Finding]:
    """What is wrong with a server's source, in the order in which it stands there."""
    try:
        source = Source(text, path)
        ignored = read_ignored(text)
    except (SyntaxError, ValueError, RecursionError, tokenize.TokenError) as error:
        return [_unreadable(path, error)] if selection.has(UNREADABLE) else []
    rules = [rule for rule in RULES.values() if selection.has(rule.code)]
    found = {_finding(source, rule.code, mark) for rule in rules for mark in rule.check(source)}
    return sorted(each for each in found if not ignored.covers(each.code, each.line))


def lint_paths(paths: Iterable[Path], selection: Selection = EVERYTHING) -> list[Finding]:
    """What is wrong with these files, and with the Python files below these folders."""
    findings: list[Finding] = []
    for file in python_files(paths):
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (UnicodeDecodeError, OSError) as error:
            findings += [_unreadable(str(file), error)] if selection.has(UNREADABLE) else []
            continue
        findings += lint_text(text, str(file), selection)
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


def _finding(source: Source, code: str, mark: Mark) -> Finding:
    """A mark as columns of its first line: the tree counts bytes, people count characters."""
    node, message = mark
    line, start = place(node)
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
