"""What one node watches: its own parked rounds that others answer, and others' rounds that it waits for.

One listener for hints and one poller a node, however many rounds there are. The poller also says that the node lives.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from handraise.errors import StoreError
from handraise.stores.postgres.database import Database
from handraise.stores.postgres.hints import Hints
from handraise.stores.postgres.nodes import Node
from handraise.stores.postgres.rounds import Rounds

logger = logging.getLogger(__name__)

_LOOK_AGAIN = 5.0
"""When a waiting request looks for itself, should poller and listener both be of no help."""


class Watch:
    """The eyes and ears of one node."""

    def __init__(self, database: Database, node: Node, rounds: Rounds, poll: float) -> None:
        self._node = node
        self._rounds = rounds
        self._poll = poll
        self._hints = Hints(database, node.name, self._told)
        self._attending: list[Callable[[str], bool]] = []
        self._changes: dict[str, asyncio.Event] = {}
        self._askers: dict[str, set[str]] = {}
        self._polling: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._chores: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Be present, from the first thing on that others may ask this node about."""
        if self._polling is None:
            async with self._starting:
                if self._polling is None:
                    await self._node.beat()
                    await self._hints.start()
                    self._polling = asyncio.create_task(self._look(), name="handraise poller")

    async def stop(self) -> None:
        """Be present no more."""
        if self._polling is None:
            return
        polling, self._polling = self._polling, None
        tasks = [polling, *self._chores]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._hints.stop()
        try:
            await self._node.leave()
        except StoreError as error:
            logger.warning("the other nodes learn only from our lease that we left: %s", error)

    # Rounds that are parked here.

    def attend(self, answered: Callable[[str], bool]) -> None:
        """Call this with every round of ours that another node answered; it says whether the body is here."""
        self._attending.append(answered)

    def went_on(self, token: str) -> None:
        """Tell who waits for a round of ours."""
        for node in self._askers.pop(token, ()):
            self._hints.give(node, token)

    def _was_answered(self, token: str) -> None:
        if not any(answered(token) for answered in self._attending):
            chore = asyncio.create_task(self._disown(token))
            self._chores.add(chore)
            chore.add_done_callback(self._chores.discard)

    async def _disown(self, token: str) -> None:
        try:
            await self._rounds.disown(token)
        except StoreError:
            return  # the poller finds it again
        self.went_on(token)

    # Rounds of others that somebody here waits for.

    def expect(self, token: str, owner: str) -> None:
        """Tell the node where a round is parked that it was answered, and listen for what comes of it."""
        if token not in self._changes:
            self._changes[token] = asyncio.Event()
            self._hints.give(owner, token)

    async def changed(self, token: str) -> None:
        """Wait until a round may have gone on."""
        change = self._changes.setdefault(token, asyncio.Event())
        try:
            async with asyncio.timeout(_LOOK_AGAIN):
                await change.wait()
        except TimeoutError:
            pass
        finally:
            self._changes.pop(token, None)

    # Both.

    def _told(self, sender: str, token: str) -> None:
        change = self._changes.get(token)
        if change is not None:
            change.set()
        else:
            self._askers.setdefault(token, set()).add(sender)
            self._was_answered(token)

    async def _look(self) -> None:
        beat_at = 0.0
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._poll)
            try:
                if loop.time() >= beat_at:
                    beat_at = loop.time() + self._node.lease / 3
                    await self._node.beat()
                await self._look_once()
            except StoreError as error:
                logger.warning("this node could not look at the store: %s", error)

    async def _look_once(self) -> None:
        for token in await self._rounds.taken():
            self._was_answered(token)
        waiting = list(self._changes)
        if waiting:
            elsewhere = await self._rounds.still_elsewhere(waiting)
            for token in waiting:
                if token not in elsewhere and (change := self._changes.get(token)) is not None:
                    change.set()
