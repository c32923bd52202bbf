"""Guards above `@server.tool()`: the guarded function replaces the registered one.

`@server.tool()` returns the function that it registered. A decorator above it would wrap a function that nobody calls,
and the tool would run unguarded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_MARK: Final = "__handraise_stands_in__"
_bodies = 0
"""The number of replaced functions."""


def stand_in_for(body: Callable[..., Any], instead: Callable[..., Any]) -> None:
    """Run a function instead of a tool's body, even if the framework registered the body."""
    global _bodies
    try:
        setattr(body, _MARK, instead)
    except AttributeError:
        return  # for example a bound method, which no framework registered
    _bodies += 1


def stand_in_of(function: object) -> Callable[..., Any] | None:
    """The function that replaces this one, if any."""
    found: Callable[..., Any] | None = getattr(function, _MARK, None)
    return found


def are_there_any() -> bool:
    """Whether any function of this process is replaced."""
    return _bodies > 0
