"""Tasks that are cancelled with their owner."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class TaskSet:
    """The tasks of one owner."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def run(
        self, work: Coroutine[Any, Any, None], also: set[asyncio.Task[Any]] | None = None
    ) -> asyncio.Task[None]:
        """Start a task. While it runs, it is in the set `also` too."""
        task = asyncio.ensure_future(work)
        for tasks in (self._tasks,) if also is None else (self._tasks, also):
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        return task

    async def finish(self) -> None:
        """Wait for all tasks."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def aclose(self) -> None:
        """Cancel all tasks."""
        for task in list(self._tasks):
            task.cancel()
        await self.finish()
