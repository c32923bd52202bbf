"""Gives events their places in the tree, a moment after they were committed.

Whoever commits an event does not wait for it. Any process that shares the store may do it; the store sees to it that
one does at a time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from handraise.conversation.recorded import LedgerTables, TreeState
from handraise.errors import HandraiseError
from handraise.ledger.tree import HASH, Tree, leaf_hash

logger = logging.getLogger(__name__)

_AT_ONCE = 2000
"""How many events get their places in one transaction: others wait for it."""


def tree_of(state: TreeState) -> Tree:
    """The tree that a store keeps."""
    parts = (state.peaks[at : at + HASH] for at in range(0, len(state.peaks), HASH))
    return Tree(state.size, tuple(parts))


def grow(state: TreeState, bodies: Sequence[bytes]) -> tuple[TreeState, list[bytes]]:
    """The tree with these events added, and their leaf hashes."""
    leaves = [leaf_hash(body) for body in bodies]
    tree = tree_of(state).grown(leaves)
    return TreeState(tree.size, b"".join(tree.peaks)), leaves


async def place_all(tables: LedgerTables) -> Tree:
    """Give every event that is there its place; the tree afterwards."""
    before = (await tables.tree()).size
    while True:
        state = await tables.place(grow, _AT_ONCE)
        if state.size - before < _AT_ONCE:
            return tree_of(state)
        before = state.size


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
