"""Tasks that are kept until they end, and end with whoever began them."""

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
        """Have something go on; while it does, it is in the set `also`, too."""
        task = asyncio.ensure_future(work)
        for tasks in (self._tasks,) if also is None else (self._tasks, also):
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        return task

    async def finish(self) -> None:
        """Wait for all of them."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def aclose(self) -> None:
        """End all of them."""
        for task in list(self._tasks):
            task.cancel()
        await self.finish()
