"""Running a task at once that is to run at the next turn of the event loop.

A body that never asks is over by the time its request looks, and each round of one that does costs two turns of the
loop less. (Python 3.12 can begin a task like this, and never go on with one.) Only asyncio's own loop lets us; on
another one the task runs at the next turn, as every task does.

Private names: `BaseEventLoop._ready`, `._task_factory`, `Handle._callback`, `._context`, `._args`, and on Python 3.11,
where `current_task` is written in Python, what it looks into. A test pins them.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio import _enter_task, _leave_task
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar

T = TypeVar("T")

running_in: Callable[[Any], asyncio.Task[Any] | None] = asyncio.current_task
"""The task that runs in a loop."""
if sys.version_info < (3, 12):
    running_in = vars(asyncio.tasks)["_current_tasks"].get


def ready_in(loop: Any) -> int:
    """How many wait for their turn in a loop. It has counted those of the turn that it is at: none may be missing."""
    return len(getattr(loop, "_ready", ()))


def begin_now(
    work: Coroutine[Any, Any, T], *, loop: Any = None, name: str | None = None, context: Context | None = None
) -> asyncio.Task[T]:
    """Make a task and run it until it waits. The `loop` is the one that runs."""
    loop = loop or asyncio.get_running_loop()
    ready: Any = getattr(loop, "_ready", ())
    if getattr(loop, "_task_factory", True) is None:
        task = asyncio.Task(work, loop=loop, name=name, context=context)
    else:
        task = loop.create_task(work, name=name, context=context)
    if ready:
        _run_last(task, loop, ready)
    return task


def run_now(task: asyncio.Task[Any], since: int) -> None:
    """Run a task until it waits, if it was the last to be made ready, when so many others were already."""
    loop: Any = task.get_loop()
    ready: Any = getattr(loop, "_ready", ())
    if len(ready) > since:
        _run_last(task, loop, ready)


def _run_last(task: asyncio.Task[Any], loop: asyncio.AbstractEventLoop, ready: deque[Any]) -> None:
    step = ready[-1]
    callback = step._callback
    if getattr(callback, "__self__", None) is not task:
        return
    if (last := ready.pop()) is not step:  # another thread was quick
        behind = [last]
        while (last := ready.pop()) is not step:
            behind.append(last)
        ready.extend(reversed(behind))
    running = running_in(loop)
    if running is None:
        step._context.run(callback, *step._args)  # which tells nobody but the task of what it raises
        return
    _leave_task(loop, running)
    try:
        step._context.run(callback, *step._args)
    finally:
        _enter_task(loop, running)
