"""Who waits for a task: its own awaiter, and through groups, gatherings and limits whoever waits for that one.

asyncio keeps nothing of the kind, but calls somebody when a task is done, and who is called leads to who waits.

Private names: `Future._callbacks`, `TaskGroup._on_completed_fut` (asyncio's and anyio's), `Queue._getters`,
`_AsCompletedIterator._done`. A test goes through everything that asyncio has to wait with, and fails when one of them
moves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from inspect import getattr_static
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any, TypeAlias

Awaited: TypeAlias = asyncio.Future[Any]


def who_wait_for(
    task: asyncio.Task[Any], beyond: Callable[[asyncio.Task[Any]], Iterable[Awaited]] = lambda _task: ()
) -> set[Awaited]:
    """The task, and every task and future that goes on only when it is done.

    `beyond` tells of a task who waits for it by other means than asyncio's.
    """
    found: set[Awaited] = {task}
    ahead: list[Awaited] = [task]
    while ahead:
        awaited = ahead.pop()
        for callback, _context in getattr(awaited, "_callbacks", None) or ():
            ahead += _new(_behind(callback), found)
        if isinstance(awaited, asyncio.Task):
            ahead += _new(beyond(awaited), found)
    return found


def _new(waiting: Iterable[Awaited], found: set[Awaited]) -> list[Awaited]:
    new = [each for each in waiting if each not in found]
    found.update(new)
    return new


def _behind(callback: Any) -> Iterator[Awaited]:
    """What is done, or goes on, by a callback: that of a task, of a group, of a closure or a partial of asyncio's."""
    for each in _held_by(callback):
        if isinstance(each, asyncio.Future):
            yield each
            continue
        # Of `as_completed`, from Python 3.13 on in an object of its own. A static look runs no code of an author's.
        done = each if isinstance(each, asyncio.Queue) else getattr_static(each, "_done", None)
        completed = getattr_static(each, "_on_completed_fut", None)
        if isinstance(done, asyncio.Queue):
            yield from vars(done)["_getters"]
        elif isinstance(completed, asyncio.Future):
            yield completed


def _held_by(callback: Any) -> Iterator[Any]:
    if isinstance(callback, MethodType | BuiltinMethodType):
        yield callback.__self__
    elif isinstance(callback, partial):
        yield from callback.args
    elif isinstance(callback, FunctionType):
        for cell in callback.__closure__ or ():
            with suppress(ValueError):  # it is empty
                yield cell.cell_contents
