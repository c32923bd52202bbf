"""Comments that switch a rule off: `# handraise: ignore[HR101]` for a line, `ignore-file[…]` for a file."""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass

_COMMENT = re.compile(r"#.*?\bhandraise:\s*(?P<what>ignore(?:-file)?)\[(?P<codes>[^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Ignored:
    """Which rules are off where. Codes may be the beginning of several: `HR4`."""

    in_file: frozenset[str]
    by_line: dict[int, frozenset[str]]

    def covers(self, code: str, line: int) -> bool:
        """Whether a finding of this rule on this line is switched off."""
        return any(code.startswith(each) for each in self.in_file | self.by_line.get(line, frozenset()))


def read_ignored(text: str) -> Ignored:
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
    return Ignored(frozenset(in_file), by_line)
