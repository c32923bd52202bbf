"""Keeps the person's thinking time out of the time limits around a question.

A tool that may take ten seconds may still ask a question that takes two minutes: the limits that its
author (or FastMCP's `timeout=`) put around it with anyio stand still while the person thinks.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from anyio._backends import _asyncio


def innermost_scope() -> anyio.CancelScope | None:
    """The cancel scope that the running task is in, or None."""
    task = asyncio.current_task()
    state = None if task is None else _asyncio._task_states.get(task)
    return None if state is None else state.cancel_scope


@contextmanager
def stopped_clocks(outside: anyio.CancelScope | None) -> Iterator[None]:
    """Stop every deadline from the running task's innermost scope up to (not including) `outside`."""
    now = asyncio.get_running_loop().time
    stopped = [(scope, scope.deadline - now()) for scope in _scopes(outside) if scope.deadline != math.inf]
    for scope, _ in stopped:
        scope.deadline = math.inf
    try:
        yield
    finally:
        for scope, left in stopped:
            scope.deadline = now() + left


def _scopes(outside: anyio.CancelScope | None) -> Iterator[anyio.CancelScope]:
    scope = innermost_scope()
    while scope is not None and scope is not outside:
        yield scope
        scope = getattr(scope, "_parent_scope", None)
