"""Being told to end, by a signal: nothing that a server does from then on means that it was lost."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from handraise.gateway.home import Home


@contextlib.contextmanager
def ending_on_signals(home: Home, act: Callable[[int], None]) -> Iterator[None]:
    """Have something done when a gateway is told to end; what is parked in it is left to the next one."""

    loop = asyncio.get_running_loop()

    def told(number: int, frame: FrameType | None) -> None:
        # Not in the loop's next turn: the same signal may have ended the server, and the loop hears of that first.
        home.ending = True
        loop.call_soon_threadsafe(act, number)

    before = {number: signal.signal(number, told) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
