"""Keeps the person's thinking time out of the time limits around a question.

A tool that may take ten seconds may still ask a question that takes two minutes: the limits that its
author (or FastMCP's `timeout=`) put around it with anyio stand still while the person thinks.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Iterator

import anyio
from anyio._backends import _asyncio

from handraise.conversation.cancellation import first_of
from handraise.conversation.eagerness import running_in

Stopped = tuple[anyio.CancelScope, ...]
"""Cancel scopes whose deadlines stand still for a question."""


class _Standing:
    """A clock that stands still: what it has left, and for how many questions."""

    __slots__ = ("left", "questions")

    def __init__(self, left: float) -> None:
        self.left = left
        self.questions = 1


_standing: dict[anyio.CancelScope, _Standing] = {}


def innermost_scope() -> anyio.CancelScope | None:
    """The cancel scope that the running task is in, or None."""
    task = running_in(asyncio.get_running_loop())
    state = None if task is None else _asyncio._task_states.get(task)
    return None if state is None else state.cancel_scope


def is_cancelled(scope: anyio.CancelScope | None) -> bool:
    """Whether whoever is in a cancel scope is cancelled, by it or by one around it."""
    return isinstance(scope, _asyncio.CancelScope) and scope._effectively_cancelled


def is_cancelled_by(cancelled: asyncio.CancelledError, scopes: Iterable[anyio.CancelScope | None]) -> bool:
    """Whether a cancellation came from one of these scopes, or from one around it.

    anyio says in the message which scope it was, and asyncio hands that on to a task that whoever is cancelled waits
    for. Whatever else cancels a task, a limit or the author, says something else or nothing.
    """
    message = " ".join(map(str, first_of(cancelled).args))
    if not message.startswith(_VIA):
        return False
    origin = message[len(_VIA) :].partition(" ")[0].rstrip(";")
    return any(f"{id(scope):x}" == origin for scope in _around(scopes))


_VIA = "Cancelled via cancel scope "


def _around(scopes: Iterable[anyio.CancelScope | None]) -> Iterator[anyio.CancelScope]:
    for scope in scopes:
        while scope is not None:
            yield scope
            scope = getattr(scope, "_parent_scope", None)


def stop_clocks(outside: anyio.CancelScope | None = None) -> Stopped:
    """Let every deadline from the running task's innermost scope up to `outside` stand still."""
    stopped: Stopped = ()
    scope = innermost_scope()
    while scope is not None and scope is not outside:
        if (standing := _standing.get(scope)) is not None:
            standing.questions += 1
            stopped += (scope,)
        elif scope.deadline != math.inf:
            _standing[scope] = _Standing(scope.deadline - anyio.current_time())
            scope.deadline = math.inf
            stopped += (scope,)
        scope = getattr(scope, "_parent_scope", None)
    return stopped


def start_clocks(stopped: Stopped) -> None:
    """Let them go on, each with the time that it had left, when no other question is open there."""
    for scope in stopped:
        standing = _standing[scope]
        standing.questions -= 1
        if standing.questions:
            continue
        del _standing[scope]
        if scope.deadline == math.inf:  # if not, the author has set another one meanwhile
            scope.deadline = anyio.current_time() + standing.left
