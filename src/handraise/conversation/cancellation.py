"""What a task was cancelled by: its first cancellation says so, if anything does."""

from __future__ import annotations

import asyncio

LEFT = "handraise: nobody waits for it any more"


def is_left_by(cancelled: asyncio.CancelledError) -> bool:
    """Whether a cancellation says that nobody waits any more for whoever is cancelled.

    Others may have followed while a task was still tidying up after the first one.
    """
    while isinstance(cancelled.__context__, asyncio.CancelledError):
        cancelled = cancelled.__context__
    return cancelled.args == (LEFT,)
