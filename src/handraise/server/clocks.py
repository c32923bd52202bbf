"""Keeps the person's thinking time out of the time limits around a question.

A tool that may take ten seconds may still ask a question that takes two minutes: the limits that its
author (or FastMCP's `timeout=`) put around it with anyio stand still while the person thinks.
"""

from __future__ import annotations

import asyncio
import math

import anyio
from anyio._backends import _asyncio


def innermost_scope() -> anyio.CancelScope | None:
    """The cancel scope that the running task is in, or None."""
    task = asyncio.current_task()
    state = None if task is None else _asyncio._task_states.get(task)
    return None if state is None else state.cancel_scope


class StoppedClocks:
    """Within it, every deadline from the running task's innermost scope up to `outside` stands still."""

    __slots__ = ("_outside", "_stopped")

    def __init__(self, outside: anyio.CancelScope | None = None) -> None:
        self._outside = outside
        self._stopped: list[tuple[anyio.CancelScope, float]] = []

    def __enter__(self) -> None:
        scope = innermost_scope()
        while scope is not None and scope is not self._outside:
            if scope.deadline != math.inf:
                self._stopped.append((scope, scope.deadline - anyio.current_time()))
                scope.deadline = math.inf
            scope = getattr(scope, "_parent_scope", None)

    def __exit__(self, *_: object) -> None:
        for scope, left in self._stopped:
            scope.deadline = anyio.current_time() + left
