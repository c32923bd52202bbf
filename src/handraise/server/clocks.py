"""Keeps the person's thinking time out of the time limits around a question.

A tool that may take ten seconds may still ask a question that takes two minutes: the limits that its author (or
FastMCP's `timeout=`) put around it stand still while the person thinks. They are cancel scopes of anyio,
`asyncio.timeout` and `asyncio.wait_for`, of the task that asks and of everybody who waits for it.

asyncio's are found by their timers, of which there may be thousands. So they are looked for a moment after a question
was asked, which no person notices, once for all that were asked meanwhile; that moment is given back. Limits of how the
question itself is waited for are none of these: they are no scopes around it, and none is an `asyncio.timeout`.

Private names: `BaseEventLoop._scheduled`, `Handle._callback`, `._args`, `Timeout._task`, `TaskGroup._parent_task`,
`asyncio.tasks._release_waiter`; anyio's `_task_states`, `CancelScope._parent_scope`, `._host_task`. Tests hold every
limit to what it says here; on an event loop that keeps its timers elsewhere asyncio's limits go on.
"""

from __future__ import annotations

import asyncio
import contextvars
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

Limit: TypeAlias = anyio.CancelScope | asyncio.Timeout | Awaited
"""A time limit: a cancel scope, a time-out, or what `asyncio.wait_for` waits at."""


@dataclass(slots=True)
class _Standing:
    """A time limit that stands still: what it has left, until when we have set it, and for how many questions."""

    left: float
    until: float
    questions: int = 0


_standing: dict[Limit, _Standing] = {}
_MOMENT = 0.05
_AGES = 1e9
"""So many seconds nobody waits; what is set to that is ours."""
_release_waiter: Any = vars(tasks)["_release_waiter"]


def who_wait_for(asker: asyncio.Task[Any]) -> set[Awaited]:
    """A task, and everybody who goes on only when it has ended, also by way of a worker thread that waits for it."""
    return awaiting.who_wait_for(asker, _whose_thread_waits)


def is_shielded(task: asyncio.Task[Any]) -> bool:
    """Whether anyio would not cancel a task where it is now: it is in a shield, or waits for a worker thread."""
    return any(scope.shield for scope in _scopes_of({task}))


class Pause:
    """While a question is open: the time limits around it stand still."""

    __slots__ = ("_asker", "_limits", "_scope")

    def __init__(self, asker: asyncio.Task[Any] | None, scope: anyio.CancelScope | None = None) -> None:
        self._asker = asker
        """None when the question is not open any more."""
        self._scope = scope
        """Of anyio, which the question is in."""
        self._limits: tuple[Limit, ...] = ()

    def begin(self, timers: _Timers, since: float) -> None:
        """Let every limit stand still that is around what whoever asks waits for, with what it had left since then."""
        asker = self._asker
        if asker is None:
            return
        around = awaiting.who_wait_for(asker, _in_whose_group_it_is)
        found: list[Limit] = [each for each in around if each in _standing]
        scopes = dict.fromkeys(_around(self._scope)) | _scopes_of(around - {asker})
        found += (limit for limit in scopes if _stands(limit, limit.deadline, since))
        found += (limit for limit in timers.around(around) if _stands(limit, limit.when(), since))
        for timer, waiter in timers.waited_for_by(around):
            _stands(waiter, timer.when(), since)
            timer.cancel()
            found.append(waiter)
        for limit in found:
            _standing[limit].questions += 1
        self._limits = tuple(found)

    def end(self) -> None:
        """Let them go on, each with the time that it had left, when no other question is open there."""
        self._asker = self._scope = None  # it may wait to be looked at for a moment longer than its call
        for limit in self._limits:
            _goes_on(limit)


class Clocks:
    """The questions of one server that were asked a moment ago."""

    def __init__(self) -> None:
        self._asked: list[Pause] = []
        self._since = 0.0
        """When the first of them was."""
        self._loop: asyncio.AbstractEventLoop | None = None

    def stop(self, asker: asyncio.Task[Any] | None = None) -> Pause:
        """Let the time limits stand still around a question that a task is about to ask: the one that runs."""
        asker = asker or asyncio.current_task()
        if asker is None:
            return Pause(None)
        loop, state = asker.get_loop(), _asyncio._task_states.get(asker)
        pause = Pause(asker, None if state is None else state.cancel_scope)
        if not self._asked or loop is not self._loop:
            self._loop, self._asked, self._since = loop, [], loop.time()
            loop.call_later(_MOMENT, self._look, context=contextvars.Context())
        self._asked.append(pause)
        return pause

    def _look(self) -> None:
        asked, self._asked = self._asked, []
        timers = _Timers(self._loop)
        for pause in asked:
            pause.begin(timers, self._since)


class NoClocks(Clocks):
    """Where the limits around a question are no tool's."""

    def stop(self, asker: asyncio.Task[Any] | None = None) -> Pause:
        return Pause(None)


class _Timers:
    """The time limits of asyncio's in an event loop."""

    def __init__(self, loop: Any) -> None:
        self._timeouts: list[asyncio.Timeout] = []
        self._waits: list[tuple[asyncio.TimerHandle, Awaited]] = []
        for timer in getattr(loop, "_scheduled", ()):
            callback = timer._callback
            if callback is _release_waiter:
                self._waits.append((timer, timer._args[0]))
            elif type(callback) is MethodType and type(callback.__self__) is asyncio.Timeout:
                self._timeouts.append(callback.__self__)

    def around(self, waiting: set[Awaited]) -> Iterator[asyncio.Timeout]:
        """Those of `asyncio.timeout` that one of these tasks is in."""
        return (limit for limit in self._timeouts if vars(limit)["_task"] in waiting)

    def waited_for_by(self, waiting: set[Awaited]) -> Iterator[tuple[asyncio.TimerHandle, Awaited]]:
        """Where one of these waits by `asyncio.wait_for`, with what ends it. What stands still has ended its timer."""
        for timer, waiter in self._waits:
            if not timer.cancelled() and _is_waited_for(waiter, waiting):
                yield timer, waiter


def _stands(limit: Limit, end: float | None, since: float) -> bool:
    """Whether a limit that ends then stands still since then, for another question or already."""
    if end is None or end == math.inf:
        return False
    standing = _standing.get(limit)
    if standing is None or end != standing.until:  # the author may have set another one meanwhile
        questions = 0 if standing is None else standing.questions
        standing = _standing[limit] = _Standing(end - since, since + _AGES, questions)
        if isinstance(limit, asyncio.Timeout):
            limit.reschedule(standing.until)
        elif not isinstance(limit, asyncio.Future):
            limit.deadline = standing.until
    return True


def _goes_on(limit: Limit) -> None:
    standing = _standing[limit]
    standing.questions -= 1
    if standing.questions:
        return
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
