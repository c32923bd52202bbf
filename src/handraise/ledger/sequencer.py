"""Gives events their places in the tree, a moment after they were committed, where the store does not do so at once.

The writer of an event does not wait for it. Any process that shares the store may do it; the store lets one process
do so at a time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from handraise.conversation.recorded import LedgerTables
from handraise.errors import HandraiseError
from handraise.ledger.authenticate import tree_of
from handraise.ledger.tree import Tree

logger = logging.getLogger(__name__)

_AT_ONCE = 2000
"""How many events get their places in one transaction: others wait for it."""


async def place_all(tables: LedgerTables) -> Tree:
    """Give every event that is there its place; the tree afterwards."""
    before = 0
    while True:
        head = await tables.place(_AT_ONCE)
        if head.size - before < _AT_ONCE:
            return tree_of(head)
        before = head.size


class Later:
    """Does something a while after it was first called for, however often that was; `name` is for the log."""

    def __init__(self, name: str, work: Callable[[], Awaitable[object]], delay: float) -> None:
        self._name = name
        self._work = work
        self._delay = delay
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._running: asyncio.Task[None] | None = None

    def call(self) -> None:
        """Have it done soon. A timer, not a task that waits: it keeps no loop from ending."""
        loop = asyncio.get_running_loop()
        if self._timer is None or self._loop is not loop:  # one that has ended calls nobody any more
            self._loop, self._timer = loop, loop.call_later(self._delay, self._start)

    async def stop(self) -> None:
        """Call nothing any more, and wait for what runs."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._running is not None:
            await asyncio.gather(self._running, return_exceptions=True)
            self._running = None

    def _start(self) -> None:
        self._timer = None
        self._running = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        try:
            await self._work()
        except HandraiseError:
            logger.exception("%s failed", self._name)
