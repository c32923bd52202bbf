"""Offer "done" and "cancel" while the person is in their browser, and continue when the server is ready."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from handraise.client.consent import Consent
from handraise.errors import Stopped
from handraise.questions import UrlQuestion

T = TypeVar("T")

MAX_RETRIES: Final = 3
"""How often the person may resend a retry."""

PATIENCE: Final = 0.5
"""Seconds before the desk offers anything: most retries do not wait for a browser."""

_GAVE_UP: Final = "The person stopped waiting for the browser, so the call was ended."


async def finish_in_browser(consent: Consent, link: UrlQuestion, finished: Coroutine[Any, Any, Any]) -> bool:
    """Wait until the server or the person says that a link is finished; False when the person gives up."""
    async with _started(consent.wait_in_browser(link)) as said, _started(finished) as noticed:
        await asyncio.wait({said, noticed}, return_when=asyncio.FIRST_COMPLETED)
        if noticed.done():
            await consent.flows.completed(link)
        return noticed.done() or said.result()


async def wait_while_browsing(
    consent: Consent, opened: asyncio.Queue[UrlQuestion], request: Coroutine[Any, Any, T]
) -> T:
    """Wait for a call that sends the person to a browser while it runs (2025-11-25); they can end it meanwhile."""
    async with _started(request) as made:
        while True:
            async with _started(opened.get()) as went:
                await asyncio.wait({made, went}, return_when=asyncio.FIRST_COMPLETED)
                if made.done():
                    return made.result()
            await _offer_to_end(consent, went.result(), made)


async def _offer_to_end(consent: Consent, link: UrlQuestion, made: asyncio.Task[Any]) -> None:
    """Offer to end the call until it is over, or the server or the person says that the link is finished."""
    finished = consent.flows.expect(link)
    try:
        async with _started(finished.wait()) as noticed:
            await asyncio.wait({made, noticed}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if made.done():
            return
        async with _started(finish_in_browser(consent, link, finished.wait())) as finishing:
            await asyncio.wait({made, finishing}, return_when=asyncio.FIRST_COMPLETED)
            if not made.done() and not finishing.result():
                raise Stopped(_GAVE_UP, action="cancel")
    finally:
        consent.flows.forget(link)


async def retry_while_browsing(
    consent: Consent, links: Sequence[UrlQuestion], send: Callable[[], Coroutine[Any, Any, T]]
) -> T:
    """Send the retry that waits for the browser (2026-07-28).

    The person may resend it ("done"), or end the call. The old retry is cancelled first:
    two retries at once could run a careless server's tool twice.
    """
    for left in range(MAX_RETRIES, -1, -1):
        async with _started(send()) as sent:
            again = await _said_done(consent, links, sent)
            while again and not left:  # nothing more is sent, but the person can still give up
                again = await _said_done(consent, links, sent)
            if not again:
                return sent.result()
    raise AssertionError("the last retry is waited for")


async def _said_done(consent: Consent, links: Sequence[UrlQuestion], sent: asyncio.Task[Any]) -> bool:
    """Offer "done" until the retry returns; True when the person says so, once for each link."""
    await asyncio.wait({sent}, timeout=PATIENCE)
    for link in links:
        if sent.done():
            return False
        async with _started(consent.wait_in_browser(link)) as said:
            await asyncio.wait({sent, said}, return_when=asyncio.FIRST_COMPLETED)
            if sent.done():
                return False
            if not said.result():
                raise Stopped(_GAVE_UP, action="cancel")
    return True


@asynccontextmanager
async def _started(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Run work in a task, which is cancelled on exit."""
    task = asyncio.get_running_loop().create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})
