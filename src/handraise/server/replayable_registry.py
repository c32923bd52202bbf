"""The functions that are declared replayable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from handraise.sdk.adapter import Adapter

_MARK: Final = "__handraise_replayable__"
_DECLARED: set[str] = set()
"""The names of all replayable functions in the running code."""


def declare(function: Callable[..., Any]) -> str:
    """Declare a function replayable; returns its name, made from its module and position."""
    name = _name_of(function)
    _DECLARED.add(name)
    return name


def mark(function: Callable[..., Any], name: str) -> None:
    """Mark a function with the name under which it is replayable. `functools.wraps` copies the mark."""
    setattr(function, _MARK, name)


def is_declared(name: str | None) -> bool:
    """Whether a function of this name is replayable in the running code."""
    return name in _DECLARED


async def serves(adapter: Adapter, method: str, target: str, name: str | None) -> bool:
    """Whether the function that serves a request is the replayable one of this name.

    A marked function that the handler calls does not count: the whole handler would run again. The one handler
    of a lowlevel server cannot be told from its tools, and may call any function that is declared. FastMCP wraps a
    prompt that takes a Context: the wrapper has its name, and not its mark.
    """
    function = await adapter.handler_of(method, target)
    if (marked := _mark_of(function)) is not None:
        return marked == name
    return is_declared(name) and (adapter.one_handler or _name_of(function) == name)


def _name_of(function: object) -> str:
    return f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"


def _mark_of(function: object) -> str | None:
    while function is not None:
        if isinstance(name := getattr(function, _MARK, None), str):
            return name
        function = getattr(function, "func", None) or getattr(function, "__wrapped__", None)
    return None
