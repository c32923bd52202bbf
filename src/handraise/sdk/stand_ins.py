"""Guards that stand above `@server.tool()`: the guarded function takes the place of the one that was registered.

`@server.tool()` gives back the function that it registered. A decorator above it would wrap what nobody calls, and the
tool would run unguarded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_MARK: Final = "__handraise_stands_in__"
_bodies = 0
"""How many functions have another one that runs instead."""


def stand_in_for(body: Callable[..., Any], instead: Callable[..., Any]) -> None:
    """Have a function run instead of a tool's body, also where the framework was given the body itself."""
    global _bodies
    try:
        setattr(body, _MARK, instead)
    except AttributeError:
        return  # a bound method or the like, which no framework's decorator was put on
    _bodies += 1


def stand_in_of(function: object) -> Callable[..., Any] | None:
    """The function that runs instead of this one, if there is one."""
    found: Callable[..., Any] | None = getattr(function, _MARK, None)
    return found


def are_there_any() -> bool:
    """Whether this process has a function that another one runs instead of."""
    return _bodies > 0
