"""Every rule, by its code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from handraise.lint.finding import Mark, Rule
from handraise.lint.rules import answers, forms, harm, links, loops, revisions, worth
from handraise.lint.source import Source

UNREADABLE = "HR001"


def _nothing(source: Source) -> Iterator[Mark]:
    """A file that could be parsed has nothing against it here."""
    yield from ()


_READABLE = Rule(
    code=UNREADABLE,
    title="file that cannot be read",
    sentence="The file is no Python that this version can parse, or no UTF-8.",
    why="What cannot be read cannot be checked, and a check that skips files in silence is worth nothing.",
    mend="Mend the file, or leave it out of the paths.",
    wrong="def broken(:\n",
    right="def whole() -> None: ...\n",
    check=_nothing,
)

_PARTS = (forms, answers, links, revisions, harm, loops, worth)

RULES: Mapping[str, Rule] = MappingProxyType(
    {rule.code: rule for rule in (_READABLE, *(rule for part in _PARTS for rule in part.RULES))}
)
"""In the order of their codes: HR1 forms, HR2 answers, HR3 links, HR4 revisions, HR5 when to ask."""
