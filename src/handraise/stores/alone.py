"""What a store does that knows no nodes: go by this computer's clock, and let those who wait look again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from handraise.conversation.records import Json

_LOOK_AGAIN = 0.1


class Alone:
    """The part of the contract that is about other nodes, for a store without any."""

    async def open(self) -> None:
        """This computer's clock is there already."""

    def now(self) -> float:
        return time.time()

    def attend(self, answered: Callable[[str], bool]) -> None:
        """Nobody elsewhere answers."""

    async def take_up(self, token: str, *, now: float) -> dict[str, Json] | None:
        return None

    async def changed(self, token: str) -> None:
        await asyncio.sleep(_LOOK_AGAIN)
