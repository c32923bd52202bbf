"""What a task was cancelled by: its first cancellation says so, if anything does."""

from __future__ import annotations

import asyncio


def first_of(cancelled: asyncio.CancelledError) -> asyncio.CancelledError:
    """The cancellation that others followed while a task was still tidying up after it."""
    while isinstance(cancelled.__context__, asyncio.CancelledError):
        cancelled = cancelled.__context__
    return cancelled
