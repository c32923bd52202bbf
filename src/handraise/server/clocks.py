"""Keeps the person's thinking time out of the time limits around a question.

A tool that may take ten seconds may still ask a question that takes two minutes: the limits that its author (or
FastMCP's `timeout=`) put around it stand still while the person thinks. They are cancel scopes of anyio, and
`asyncio.timeout`, `asyncio.wait_for` and `asyncio.wait`, of the task that asks and of everybody who waits for it.

Private names: `BaseEventLoop._scheduled`, `Handle._callback`, `._args`, `._context`, `Timeout._task`,
`asyncio.tasks._release_waiter`; anyio's `_task_states`, `CancelScope._parent_scope`, `._host_task`. Tests hold every
limit to what it says here; on an event loop that keeps its timers elsewhere asyncio's limits go on.
"""

from __future__ import annotations

import asyncio
import math
from asyncio import tasks
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TypeAlias

import anyio
from anyio._backends import _asyncio

from handraise.conversation import awaiting
from handraise.conversation.awaiting import Awaited
from handraise.conversation.eagerness import running_in

Limit: TypeAlias = anyio.CancelScope | asyncio.Timeout | Awaited
"""A time limit: a cancel scope, a time-out, or what somebody waits for only so long."""
Stopped: TypeAlias = tuple[Limit, ...]
"""Time limits that stand still for a question."""


class _Standing:
    """A time limit that stands still: what it has left, and for how many questions."""

    __slots__ = ("left", "questions")

    def __init__(self, left: float) -> None:
        self.left = left
        self.questions = 1


_standing: dict[Limit, _Standing] = {}
_timeouts: dict[Awaited, tuple[asyncio.Timeout, ...]] = {}
"""The time-outs of a task that stand still: no timer leads to them meanwhile."""
_release_waiter: Any = vars(tasks)["_release_waiter"]


def who_wait_for(asker: asyncio.Task[Any]) -> set[Awaited]:
    """A task, and everybody who goes on only when it has ended, also by way of a worker thread that waits for it."""
    return awaiting.who_wait_for(asker, _whose_thread_waits)


def stop_clocks() -> Stopped:
    """Let every time limit stand still that is around what the running task is about to wait for."""
    loop = asyncio.get_running_loop()
    asker = running_in(loop)
    if asker is None:
        return ()
    alone = asker not in _asyncio._task_states and not getattr(asker, "_callbacks", True)
    around: set[Awaited] = {asker} if alone else awaiting.who_wait_for(asker, _in_whose_group_it_is)
    now, stopped = loop.time(), _standing_around(around) if _standing else ()
    for limit in stopped:
        _standing[limit].questions += 1
    for scope in () if alone else _scopes_of(around):
        if scope.deadline != math.inf:
            _standing[scope] = _Standing(scope.deadline - now)
            scope.deadline = math.inf
            stopped += (scope,)
    for timer, limit in _timers_of(around, loop):
        _standing[limit] = _Standing(timer.when() - now)
        stopped += (limit,)
        if isinstance(limit, asyncio.Timeout):
            limit.reschedule(None)
            task = _task_of(limit)
            _timeouts[task] = (*_timeouts.get(task, ()), limit)
        else:
            timer.cancel()
    return stopped


def start_clocks(stopped: Stopped) -> None:
    """Let them go on, each with the time that it had left, when no other question is open there."""
    for limit in stopped:
        standing = _standing[limit]
        standing.questions -= 1
        if standing.questions:
            continue
        del _standing[limit]
        end = anyio.current_time() + standing.left
        if isinstance(limit, asyncio.Future):
            _release_at(end, limit)
        elif isinstance(limit, asyncio.Timeout):
            _forget(limit)
            if limit.when() is None:  # if not, the author has set another one meanwhile
                with suppress(RuntimeError):  # it is over
                    limit.reschedule(end)
        elif limit.deadline == math.inf:
            limit.deadline = end


def _standing_around(around: set[Awaited]) -> Stopped:
    limits = [*around, *_scopes_of(around)]
    for task in around:
        limits += _timeouts.get(task, ())
    return tuple(limit for limit in limits if limit in _standing)


def _scopes_of(around: set[Awaited]) -> dict[anyio.CancelScope, None]:
    """The cancel scopes that any of these tasks is in."""
    found: dict[anyio.CancelScope, None] = {}
    for task in around:
        if (state := _state_of(task)) is not None:
            found.update(dict.fromkeys(_around(state.cancel_scope)))
    return found


def _timers_of(
    around: set[Awaited], loop: Any
) -> list[tuple[asyncio.TimerHandle, asyncio.Timeout | Awaited]]:
    """The timers of asyncio's own limits that any of these tasks is in, or waits by."""
    found: list[tuple[asyncio.TimerHandle, asyncio.Timeout | Awaited]] = []
    for timer in getattr(loop, "_scheduled", ()):
        limit = getattr(timer._callback, "__self__", None)
        if type(limit) is asyncio.Timeout:
            if _task_of(limit) in around:
                found.append((timer, limit))
        elif timer._callback is _release_waiter and timer._args[0] in around:
            found.append((timer, timer._args[0]))
    return found


def _release_at(end: float, waiter: Awaited) -> None:
    """Let whoever waits, wait until then."""
    if not waiter.done():
        timer = asyncio.get_running_loop().call_at(end, _release_waiter, waiter)
        waiter.add_done_callback(lambda _waiter: timer.cancel())


def _task_of(timeout: asyncio.Timeout) -> Awaited:
    return vars(timeout)["_task"]  # type: ignore[no-any-return]


def _forget(timeout: asyncio.Timeout) -> None:
    task = _task_of(timeout)
    left = tuple(each for each in _timeouts[task] if each is not timeout)
    if left:
        _timeouts[task] = left
    else:
        del _timeouts[task]


def _state_of(task: Awaited) -> _asyncio.TaskState | None:
    return _asyncio._task_states.get(task) if isinstance(task, asyncio.Task) else None


def _around(scope: anyio.CancelScope | None) -> Iterator[anyio.CancelScope]:
    while scope is not None:
        yield scope
        scope = getattr(scope, "_parent_scope", None)


def _in_whose_group_it_is(task: asyncio.Task[Any]) -> Iterator[Awaited]:
    """Who will wait for a task, whatever they do meanwhile: whose group, or worker thread, it runs in."""
    state = _state_of(task)
    for scope in _around(None if state is None else state.cancel_scope):
        if (host := getattr(scope, "_host_task", None)) is not None:
            yield host
    for callback, _context in getattr(task, "_callbacks", None) or ():
        if isinstance(group := getattr(callback, "__self__", None), asyncio.TaskGroup):
            yield vars(group)["_parent_task"]


def _whose_thread_waits(task: asyncio.Task[Any]) -> Iterator[Awaited]:
    """Who waits for the worker thread that had a task run and waits for it."""
    state = _state_of(task)
    if state is not None and state.parent_id is None:  # it is in nobody's group
        hosts = (getattr(scope, "_host_task", None) for scope in _around(state.cancel_scope))
        yield from (host for host in hosts if host not in (None, task))
