"""What a store does that knows no nodes: go by this computer's clock, and let those who wait look again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from handraise.conversation.records import Brought
from handraise.conversation.store import Answered

_LOOK_AGAIN = 0.1


class Alone:
    """The part of the contract that is about other nodes, for a store without any."""

    now: Callable[[], float] = staticmethod(time.time)

    async def open(self) -> None:
        """This computer's clock is there already."""

    def attend(self, answered: Answered) -> None:
        """Nobody elsewhere answers."""

    async def take_up(self, token: str, *, now: float) -> Brought | None:
        return None

    async def changed(self, token: str) -> None:
        await asyncio.sleep(_LOOK_AGAIN)
