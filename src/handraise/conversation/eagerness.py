"""Running a task at once that is to run at the next turn of the event loop.

A body that never asks is over by the time its request looks, and each round of one that does costs two turns of the
loop less. (Python 3.12 can begin a task like this, and never go on with one.) Only asyncio's own loop lets us; on
another one the task runs at the next turn, as every task does.

Private names: `BaseEventLoop._ready`, `Handle._callback`, `Handle._run`. A test pins them.
"""

from __future__ import annotations

import asyncio
from asyncio import _enter_task, _leave_task
from typing import Any


def run_now(task: asyncio.Task[Any]) -> None:
    """Run a task until it waits, if it was the last to be made ready."""
    loop: Any = task.get_loop()
    ready = getattr(loop, "_ready", None)
    if not ready or getattr(ready[-1]._callback, "__self__", None) is not task:
        return
    step = ready.pop()
    running = asyncio.current_task(loop)
    if running is None:
        step._run()
        return
    _leave_task(loop, running)
    try:
        step._run()
    finally:
        _enter_task(loop, running)
