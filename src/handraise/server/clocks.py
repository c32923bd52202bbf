"""Keeps the person's thinking time out of the time limits around a question.

A tool that may take ten seconds may still ask a question that takes two minutes: the limits that its
author (or FastMCP's `timeout=`) put around it with anyio stand still while the person thinks.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable

import anyio
from anyio._backends import _asyncio

from handraise.conversation.eagerness import running_in

Stopped = tuple[tuple[anyio.CancelScope, float], ...]
"""Cancel scopes whose deadlines stand still, each with the seconds that it has left."""


def innermost_scope() -> anyio.CancelScope | None:
    """The cancel scope that the running task is in, or None."""
    task = running_in(asyncio.get_running_loop())
    state = None if task is None else _asyncio._task_states.get(task)
    return None if state is None else state.cancel_scope


def stop_clocks(outside: anyio.CancelScope | None = None) -> Stopped:
    """Let every deadline from the running task's innermost scope up to `outside` stand still."""
    stopped: Stopped = ()
    scope = innermost_scope()
    while scope is not None and scope is not outside:
        if scope.deadline != math.inf:
            stopped += ((scope, scope.deadline - anyio.current_time()),)
            scope.deadline = math.inf
        scope = getattr(scope, "_parent_scope", None)
    return stopped


def start_clocks(stopped: Iterable[tuple[anyio.CancelScope, float]]) -> None:
    """Let them go on, each with the time that it had left."""
    for scope, left in stopped:
        scope.deadline = anyio.current_time() + left
