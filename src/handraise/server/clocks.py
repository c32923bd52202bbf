"""Keeps the person's thinking time out of the time limits around a question.

A tool that may take ten seconds may still ask a question that takes two minutes: the limits that its author (or
FastMCP's `timeout=`) put around it stand still while the person thinks. They are cancel scopes of anyio,
`asyncio.timeout` and `asyncio.wait_for`, of the task that asks and of everybody who waits for it.

Private names: `BaseEventLoop._scheduled`, `Handle._callback`, `._args`, `Timeout._task`, `TaskGroup._parent_task`,
`asyncio.tasks._release_waiter`; anyio's `_task_states`, `CancelScope._parent_scope`, `._host_task`. Tests hold every
limit to what it says here; on an event loop that keeps its timers elsewhere asyncio's limits go on.
"""

from __future__ import annotations

import asyncio
import math
from asyncio import tasks
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import MethodType
from typing import Any, TypeAlias

import anyio
from anyio._backends import _asyncio

from handraise.conversation import awaiting
from handraise.conversation.awaiting import Awaited
from handraise.conversation.eagerness import running_in

Limit: TypeAlias = anyio.CancelScope | asyncio.Timeout | Awaited
"""A time limit: a cancel scope, a time-out, or what `asyncio.wait_for` waits at."""
Stopped: TypeAlias = tuple[Limit, ...]
"""Time limits that stand still for a question."""


@dataclass(slots=True)
class _Standing:
    """A time limit that stands still: what it has left, until when we have set it, and for how many questions."""

    left: float
    until: float
    questions: int = 0


_standing: dict[Limit, _Standing] = {}
_AGES = 1e9
"""So many seconds nobody waits; what is set to that is ours."""
_release_waiter: Any = vars(tasks)["_release_waiter"]


def who_wait_for(asker: asyncio.Task[Any]) -> set[Awaited]:
    """A task, and everybody who goes on only when it has ended, also by way of a worker thread that waits for it."""
    return awaiting.who_wait_for(asker, _whose_thread_waits)


def is_shielded(task: asyncio.Task[Any]) -> bool:
    """Whether anyio would not cancel a task where it is now: it is in a shield, or waits for a worker thread."""
    return any(scope.shield for scope in _scopes_of({task}))


def stop_clocks() -> Stopped:
    """Let every time limit stand still that is around what the running task is about to wait for."""
    loop = asyncio.get_running_loop()
    asker = running_in(loop)
    if asker is None:
        return ()
    alone = asker not in _asyncio._task_states and not getattr(asker, "_callbacks", True)
    around: set[Awaited] = {asker} if alone else awaiting.who_wait_for(asker, _in_whose_group_it_is)
    stopped: Stopped = tuple(each for each in around if each in _standing) if _standing else ()
    if not alone:
        stopped += tuple(limit for limit in _scopes_of(around) if _stands(limit, limit.deadline, loop))
    timers: list[tuple[Any, Limit]] = []
    for timer in getattr(loop, "_scheduled", ()):
        callback = timer._callback
        if type(callback) is MethodType:
            if type(callback.__self__) is asyncio.Timeout and vars(callback.__self__)["_task"] in around:
                timers.append((timer, callback.__self__))
        elif callback is _release_waiter and _is_waited_for(timer._args[0], around):
            timers.append((timer, timer._args[0]))
    for timer, timed in timers:
        if _stands(timed, timer.when(), loop):
            stopped += (timed,)
            if isinstance(timed, asyncio.Future):
                timer.cancel()
    for limit in stopped:
        _standing[limit].questions += 1
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
            if limit.when() == standing.until:  # if not, the author has set another one meanwhile
                with suppress(RuntimeError):  # it is over
                    limit.reschedule(end)
        elif limit.deadline == standing.until:
            limit.deadline = end


def _stands(limit: Limit, end: float, loop: asyncio.AbstractEventLoop) -> bool:
    """Whether a limit that ends then stands still from now on, for another question or already."""
    if end == math.inf:
        return False
    standing = _standing.get(limit)
    if standing is None or end != standing.until:  # the author may have set another one meanwhile
        now = loop.time()
        questions = 0 if standing is None else standing.questions
        standing = _standing[limit] = _Standing(end - now, now + _AGES, questions)
        if isinstance(limit, asyncio.Timeout):
            limit.reschedule(standing.until)
        elif not isinstance(limit, asyncio.Future):
            limit.deadline = standing.until
    return True


def _scopes_of(around: set[Awaited]) -> dict[anyio.CancelScope, None]:
    """The cancel scopes that any of these tasks is in."""
    found: dict[anyio.CancelScope, None] = {}
    for task in around:
        if (state := _state_of(task)) is not None:
            found.update(dict.fromkeys(_around(state.cancel_scope)))
    return found


def _is_waited_for(waiter: Awaited, around: set[Awaited]) -> bool:
    """Whether one of these waits there by `asyncio.wait_for`. Who uses `asyncio.wait` only looks in between."""
    if waiter not in around:
        return False
    callbacks = [call for each in around for call, _context in getattr(each, "_callbacks", None) or ()]
    return any(isinstance(call, partial) and waiter in call.args for call in callbacks)


def _release_at(end: float, waiter: Awaited) -> None:
    """Let whoever waits, wait until then."""
    if not waiter.done():
        timer = asyncio.get_running_loop().call_at(end, _release_waiter, waiter)
        waiter.add_done_callback(lambda _waiter: timer.cancel())


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
        if isinstance(callback, MethodType) and isinstance(callback.__self__, asyncio.TaskGroup):
            yield vars(callback.__self__)["_parent_task"]


def _whose_thread_waits(task: asyncio.Task[Any]) -> Iterator[Awaited]:
    """Who waits for the worker thread that had a task run and waits for it."""
    state = _state_of(task)
    if state is not None and state.parent_id is None:  # it is in nobody's group
        hosts = (getattr(scope, "_host_task", None) for scope in _around(state.cancel_scope))
        yield from (host for host in hosts if host not in (None, task))
