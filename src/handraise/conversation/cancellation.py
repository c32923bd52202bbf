"""What a task was cancelled by: its cancellation says so, if anything does."""

from __future__ import annotations

import asyncio

LEFT = "handraise: nobody waits for it any more"


def is_left_by(cancelled: asyncio.CancelledError) -> bool:
    """Whether a cancellation says that nobody waits any more for whoever is cancelled.

    Others may have come before it, or after it while a task was still tidying up.
    """
    error: BaseException | None = cancelled
    while isinstance(error, asyncio.CancelledError):
        if error.args == (LEFT,):
            return True
        error = error.__context__
    return False
