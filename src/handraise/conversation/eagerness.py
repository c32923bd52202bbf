"""Running a task at once that is to run at the next turn of the event loop.

A body that never asks is over by the time its request looks, and each round of one that does costs two turns of the
loop less. (Python 3.12 can begin a task like this, and never go on with one.) Only asyncio's own loop lets us; on
another one the task runs at the next turn, as every task does.

Private names: `BaseEventLoop._ready`, `Handle._callback`, `Handle._run`, and on Python 3.11, where `current_task` is
written in Python, what it looks into. A test pins them.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio import _enter_task, _leave_task
from collections.abc import Callable
from typing import Any

running_in: Callable[[Any], asyncio.Task[Any] | None] = asyncio.current_task
"""The task that runs in a loop."""
if sys.version_info < (3, 12):
    running_in = vars(asyncio.tasks)["_current_tasks"].get


def ready_in(loop: Any) -> int:
    """How many wait for their turn in a loop. It has counted those of the turn that it is at: none may be missing."""
    return len(getattr(loop, "_ready", ()))


def run_now(task: asyncio.Task[Any], since: int = 0) -> None:
    """Run a task until it waits, if it was the last to be made ready, when so many others were already.

    One that was just made needs no number.
    """
    loop: Any = task.get_loop()
    ready: Any = getattr(loop, "_ready", ())
    if len(ready) <= since or getattr(ready[-1]._callback, "__self__", None) is not task:
        return
    step = ready.pop()
    running = running_in(loop)
    if running is None:
        step._run()
        return
    _leave_task(loop, running)
    try:
        step._run()
    finally:
        _enter_task(loop, running)
