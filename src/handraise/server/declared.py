"""Which functions are declared replayable, and whether one of them is what serves a request."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from handraise.server.registered import Registered

_MARK: Final = "__handraise_replayable__"
_DECLARED: set[str] = set()
"""The names of all functions that are declared replayable in the code that runs now."""


def declare(function: Callable[..., Any]) -> str:
    """The name under which a function is replayable from now on: where it stands in the code."""
    name = f"{function.__module__}:{function.__qualname__}"
    _DECLARED.add(name)
    return name


def mark(function: Callable[..., Any], name: str) -> None:
    """Have a function be known by its name as replayable. `functools.wraps` hands the mark on."""
    setattr(function, _MARK, name)


def is_declared(name: str | None) -> bool:
    """Whether a function of this name is replayable in the code that runs now."""
    return name in _DECLARED


async def serves(tools: Registered, method: str, target: str, name: str | None) -> bool:
    """Whether what serves a request now is the replayable function of this name.

    A function that was marked and is only called by what serves does not count: that would run again as a whole.
    The one handler of a lowlevel server cannot be told from its tools, and may call any function that is declared.
    """
    marked = _mark_of(await tools.handler_of(method, target))
    if marked is not None or not tools.one_for_all:
        return marked is not None and marked == name
    return is_declared(name)


def _mark_of(function: object) -> str | None:
    while function is not None:
        if isinstance(name := getattr(function, _MARK, None), str):
            return name
        function = _within(function)
    return None


def _within(function: object) -> object:
    """What a function is made around, where that did not take the mark over: a partial, a FastMCP prompt."""
    inner = getattr(function, "func", None)
    if inner is None and inspect.isfunction(function) and function.__globals__["__name__"] == _INJECTING:
        inner = inspect.getclosurevars(function).nonlocals.get("fn")
    return inner


_INJECTING: Final = "fastmcp.server.dependencies"
"""Wraps prompts and templates that take a context, keeping of them only the name."""
