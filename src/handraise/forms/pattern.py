r"""Regular expressions from the other side, matched in linear time.

The standard library's `re` can take exponential time on a hostile pattern, so it is never used here.
The engine is the one inside pydantic: no lookaround and no back-references, which is what makes it
linear. As JSON Schema has it, a pattern may match anywhere in the text, and `$` is the very end.

Linear is still the length of the text times the weight of the pattern, and `a{60000}` is short to
write; so the weight is bounded too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

_TOKEN: Final = re.compile(
    r"""\[\^?+\]?+(?:\\.|[^\]\\])*+\]|\\.|\{([0-9]{1,9})(?:,([0-9]{0,9}))?\}|.""", re.DOTALL
)
_WIDE: Final = re.compile(r"\\[pPwWsSdD]")
_WIDE_WEIGHT: Final = 4
"""What a class of thousands of characters weighs, against a single one."""


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Callable[[object], bool]:
    """A function that tells whether the pattern is found in a text; ValueError if it cannot be compiled."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        schema = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True)
        return SchemaValidator(schema).isinstance_python
    except SchemaError:
        raise ValueError(
            "it cannot be compiled (lookaround, back-references and very large repeats are not supported)"
        ) from None


def weigh_pattern(pattern: str) -> int:
    """How many characters the pattern has when its counted repeats are written out."""
    groups, last = [0], 0
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if text == "(":
            groups.append(0)
            continue
        if text == ")" and len(groups) > 1:
            last = groups.pop() + 1
        elif token[1] is not None:
            times = max(int(token[1]), int(token[2] or 0), 1)
            groups[-1] += last * (times - 1)
            last *= times
            continue
        else:
            last = _WIDE_WEIGHT if _WIDE.search(text) else 1
        groups[-1] += last
    return sum(groups)
