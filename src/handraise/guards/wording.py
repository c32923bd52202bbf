"""Write what a person reads before a call runs: what happens, with which arguments, and what follows.

Arguments are the model's words: they are made inert, and secrets in them are masked. Of a long one the beginning and
the end are shown, with the number of characters between them: a long beginning must not push the rest out of sight.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from string import Formatter
from typing import Any, Final

from handraise.display import for_line
from handraise.errors import DefinitionError

_VALUE: Final = 160
"""Characters for one argument, at least."""
_IN_TEXT: Final = 80
_NAME: Final = 60
_LINES: Final = 12
_COUNTED: Final = 40
"""Characters that tell how many are left out."""
_ARGUMENTS: Final = 1000
"""Characters for all arguments together, so that what follows from the call is always seen."""


def compose(headline: str, tool: str, arguments: Mapping[str, Any], *more: str | None) -> str:
    """The whole message."""
    parts = [headline, "\n".join(_call(tool, arguments)), *(part for part in more if part)]
    return "\n\n".join(parts)


def count_of(number: int) -> str:
    """A count as it is shown: 2,000."""
    return f"{number:,}"


def fill(template: str, arguments: Mapping[str, Any], count: int | None) -> str:
    """The author's sentence with the count and the arguments that it names."""
    shown = masked(arguments)
    values = {name: _text(shown.get(name), _IN_TEXT) for name in names_in(template)}
    if count is not None:
        values["count"] = count_of(count)
    return template.format(**values)


def names_in(template: str) -> frozenset[str]:
    """The names that a sentence uses. Raises `DefinitionError` unless they are plain ones."""
    try:
        named = [(name, how) for _, name, *how in Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise DefinitionError(f"the guard's sentence {template!r} cannot be filled in: {error}") from None
    for name, how in named:
        if not name.isidentifier() or any(how):
            raise DefinitionError(
                f"the guard's sentence names {name!r}; use the plain name of an argument, or count"
            )
    return frozenset(name for name, _ in named)


def masked(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without secrets."""
    from handraise.trace.masks import Masks  # with it come all the rules about secrets

    return Masks(longest=sys.maxsize).mask(arguments)  # we cut what is too long ourselves


def _call(tool: str, arguments: Mapping[str, Any]) -> Iterator[str]:
    yield f"Tool: {for_line(tool, limit=_NAME)}"
    if not arguments:
        yield "Arguments: none"
        return
    yield "Arguments:"
    room, told = _ARGUMENTS, 0
    share = max(_VALUE, _ARGUMENTS // len(arguments) - _NAME - _COUNTED)
    for name, value in masked(arguments).items():
        line = f"- {for_line(name, limit=_NAME)}: {_text(value, share)}"
        if told == _LINES or len(line) > room:
            break
        yield line
        room -= len(line)
        told += 1
    if left := len(arguments) - told:
        yield f"- and {left} more that {'is' if left == 1 else 'are'} not shown"


def _text(value: Any, limit: int) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if len(whole := for_line(text, limit=limit)) <= limit:
        return whole
    half = limit // 2
    return for_line(text[:-half], limit=half) + for_line(text[-half:], limit=half)
