"""Every rule, by its code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from handraise.lint.rules import answers, forms, revisions, when_to_ask
from handraise.lint.source import LintMark, LintRule, SourceFile

UNREADABLE = "HR001"


def _nothing(source: SourceFile) -> Iterator[LintMark]:
    """A file that could be parsed has nothing against it here."""
    yield from ()


_READABLE = LintRule(
    code=UNREADABLE,
    title="file that cannot be read",
    sentence="This Python version cannot parse the file, or it is not UTF-8.",
    why="The linter cannot check a file that it cannot read.",
    fix="Fix the file, or leave it out of the paths.",
    wrong="def broken(:\n",
    right="def whole() -> None: ...\n",
    check=_nothing,
)

_PARTS = (forms, answers, revisions, when_to_ask)

RULES: Mapping[str, LintRule] = MappingProxyType(
    {
        rule.code: rule
        for rule in sorted(
            (_READABLE, *(rule for part in _PARTS for rule in part.RULES)), key=lambda rule: rule.code
        )
    }
)
"""In the order of their codes: HR1 forms, HR2 answers, HR3 links, HR4 revisions, HR5 when to ask."""
