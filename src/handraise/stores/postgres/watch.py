"""Watch rounds: this node's parked rounds that others answer, and others' rounds that this node waits for.

Each node has one listener for hints, one poller and one heartbeat, however many rounds there are.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from handraise.calls.store import DeliveredAnswers, OnAnswered
from handraise.errors import StoreError
from handraise.stores.postgres.database import Database
from handraise.stores.postgres.nodes import NodePresence, WakeUps

if TYPE_CHECKING:
    from handraise.stores.postgres.store import PostgresStore, RoundOwner

logger = logging.getLogger(__name__)

_LOOK_AGAIN = 5.0
"""Seconds after which a waiting request checks by itself, if neither poller nor listener helps."""


class RoundWatcher:
    """Watches the rounds of one node."""

    def __init__(self, database: Database, node: NodePresence, rounds: PostgresStore, poll: float) -> None:
        self._node = node
        self._rounds = rounds
        self._poll = poll
        self._hints = WakeUps(database, node, self._told)
        self._listeners: list[OnAnswered] = []
        self._changes: dict[str, asyncio.Event] = {}
        self._askers: dict[str, set[str]] = {}
        self._present: tuple[asyncio.Task[None], ...] = ()
        self._starting = asyncio.Lock()
        self._chores: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Register this node and start watching."""
        if not self._present:
            async with self._starting:
                if not self._present:
                    await self._node.enter()
                    await self._hints.start()
                    beating = asyncio.create_task(self._beat(), name="handraise heartbeat")
                    polling = asyncio.create_task(self._look(), name="handraise poller")
                    self._present = (beating, polling)

    async def stop(self) -> None:
        """Stop watching and unregister."""
        if not self._present:
            return
        tasks = [*self._present, *self._chores]
        self._present = ()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._hints.stop()
        try:
            await self._node.leave()
        except StoreError as error:
            logger.warning("the other nodes learn only from our lease that we left: %s", error)

    # Rounds that are parked here.

    def on_answered(self, answered: OnAnswered) -> None:
        """Call `answered` for every round of this node that another node answered."""
        self._listeners.append(answered)

    def went_on(self, token: str) -> None:
        """Wake the nodes that wait for a round of this node."""
        for node in self._askers.pop(token, ()):
            self._hints.give(node, token)

    def _was_answered(self, token: str, delivered: DeliveredAnswers | None = None) -> None:
        if not any(answered(token, delivered) for answered in self._listeners):
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

    def expect(self, token: str, owner: RoundOwner) -> None:
        """Tell the node of a parked round that it was answered, and wait for its outcome."""
        if token not in self._changes:
            self._changes[token] = asyncio.Event()
            self._hints.give(owner.node, token, owner.delivered)

    async def wait_for_change(self, token: str) -> None:
        """Wait until a round may have an outcome."""
        change = self._changes.setdefault(token, asyncio.Event())
        try:
            async with asyncio.timeout(_LOOK_AGAIN):
                await change.wait()
        except TimeoutError:
            pass
        finally:
            self._changes.pop(token, None)

    # Both.

    def _told(self, sender: str, token: str, sealed: bytes) -> None:
        change = self._changes.get(token)
        if change is not None:
            change.set()
        if change is None or sealed:
            self._askers.setdefault(token, set()).add(sender)
            lease_id = self._node.lease_id() if sealed else ""
            self._was_answered(token, self._rounds.unpack(token, sealed, lease_id) if lease_id else None)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._node.lease / 3)
            try:
                await self._node.beat()
            except StoreError as error:
                logger.warning("this node could not say that it lives: %s", error)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._poll)
            try:
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
