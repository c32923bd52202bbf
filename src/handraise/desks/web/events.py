"""Tell a page what changed while it is open, as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing

from handraise.desks.queue import Queue
from handraise.desks.waiting import Waiting

HEARTBEAT = 15.0


async def stream(
    queue: Queue, handles: Callable[[Iterable[Waiting]], list[str]], closing: asyncio.Event
) -> AsyncIterator[str]:
    """An event with the names of all that waits, now and at every change, until the desk closes.

    It carries names only; a page that wants to show more loads it as a page.
    """
    async with aclosing(_each(queue, closing)) as changes:
        async for waiting in changes:
            if waiting is None:
                yield ": still here\n\n"
            else:
                yield f"event: waiting\ndata: {json.dumps(handles(waiting))}\n\n"


async def _each(queue: Queue, closing: asyncio.Event) -> AsyncGenerator[tuple[Waiting, ...] | None, None]:
    """What waits at every change; None when nothing changed for a while, so that a lost browser is noticed."""
    changes = queue.changes()
    following = asyncio.ensure_future(anext(changes))
    closed = asyncio.ensure_future(closing.wait())
    try:
        while True:
            done, _ = await asyncio.wait(
                {following, closed}, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED
            )
            if closed in done:
                return
            if following in done:
                yield following.result()
                following = asyncio.ensure_future(anext(changes))
            else:
                yield None
    finally:
        closed.cancel()
        following.cancel()
        await asyncio.wait({following, closed})
        await changes.aclose()
