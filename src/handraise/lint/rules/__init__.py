"""Every rule, by its code. Its words and examples are in `rules.toml`, its check in one of the modules."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Final

from handraise.lint.rules import answers, how_to_ask, when_to_ask
from handraise.lint.source import LintCheck, LintMark, LintRule, SourceFile

UNREADABLE: Final = "HR001"


def _nothing(source: SourceFile) -> Iterator[LintMark]:
    """A file that could be parsed has nothing against it here."""
    yield from ()


_CHECKS: Final[Mapping[str, LintCheck]] = {
    UNREADABLE: _nothing,
    **how_to_ask.CHECKS,
    **answers.CHECKS,
    **when_to_ask.CHECKS,
}
_WORDS: Final = tomllib.loads(files(__name__).joinpath("rules.toml").read_text(encoding="utf-8"))

RULES: Final[Mapping[str, LintRule]] = MappingProxyType(
    {code: LintRule(code, check=_CHECKS[code], **words) for code, words in _WORDS.items()}
)
"""In the order of their codes: HR1 forms, HR2 answers, HR3 links, HR4 revisions, HR5 when to ask."""
