"""Regular expressions from the other side, matched in linear time.

The standard library's `re` can take exponential time on a hostile pattern, so it is never used here.
The engine is the one inside pydantic: no lookaround and no back-references, which is what makes it
linear. As JSON Schema has it, a pattern may match anywhere in the text, and `$` is the very end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache


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
