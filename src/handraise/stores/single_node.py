"""The part of the contract about other nodes, for stores on one computer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from handraise.calls.records import DeliveredAnswers
from handraise.calls.store import OnAnswered

_LOOK_AGAIN = 0.1


class SingleNode:
    """Answers for a store that has one node only."""

    now: Callable[[], float] = staticmethod(time.time)

    async def open(self) -> None:
        """No-op: this computer's clock is used."""

    def on_answered(self, answered: OnAnswered) -> None:
        """No-op: there is only one node."""

    async def take_delivered(self, token: str, *, now: float) -> DeliveredAnswers | None:
        return None

    async def other_nodes(self) -> int | None:
        return None

    async def wait_for_change(self, token: str) -> None:
        await asyncio.sleep(_LOOK_AGAIN)
