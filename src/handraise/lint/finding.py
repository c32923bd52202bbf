"""What a rule is, and what it found where."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from handraise.lint.source import Source

Mark: TypeAlias = tuple[ast.AST, str]
"""A place in the source, and one sentence about it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that goes wrong when servers ask. `wrong` and `right` are source that shows it."""

    code: str
    title: str
    sentence: str
    why: str
    mend: str
    wrong: str
    right: str
    check: Callable[[Source], Iterator[Mark]]


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
