"""A rule, and a finding of a rule with its place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from handraise.lint.source import SourceFile

LintMark: TypeAlias = tuple[ast.AST, str]
"""A place in the source, and one sentence about it."""


@dataclass(frozen=True, slots=True)
class LintRule:
    """One thing that goes wrong when servers ask. `wrong` and `right` are source that shows it."""

    code: str
    title: str
    sentence: str
    why: str
    fix: str
    wrong: str
    right: str
    check: Callable[[SourceFile], Iterator[LintMark]]


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One rule that one place breaks. Lines and columns count from 1; the end is the last column, included."""

    path: str
    line: int
    column: int
    code: str
    message: str
    end_column: int
    excerpt: str
    """The source line, as it is written."""


CONFIRMED_FIRST = """
async def archive(folder: str) -> str:
    (await ask.confirm(f"Archive {folder}?")).or_stop()
    return "Archived."
"""
"""Source that several rules call right: it goes on only after a yes."""
