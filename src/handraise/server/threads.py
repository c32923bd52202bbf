"""Asking from a plain `def` tool: its worker thread waits, and keeps no other tool from running."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import anyio.from_thread
import anyio.to_thread

from handraise.errors import TooManyQuestions, UsageError
from handraise.server.asking import give_up
from handraise.server.calls import CURRENT, current_call
from handraise.server.refusals import fitting

T = TypeVar("T")

_MAX_WAITING_THREADS = 200
_NO_WORKER = (
    "ask.sync waits in the worker thread of a plain `def` tool, and this is none: in an `async def` write `await` "
    "instead, as in `answer = await ask.confirm(...)`"
)


def wait_in_thread(asking: Awaitable[T]) -> T:
    """Ask in the event loop of the server, and wait for the answer here."""
    began = False

    async def begin() -> T:
        nonlocal began
        began = True
        return await _with_a_thread_more(asking)

    try:
        answer = anyio.from_thread.run(begin)
    except RuntimeError:
        if began:
            raise
        give_up(asking)
        raise fitting(UsageError(_NO_WORKER)) from None
    if (call := CURRENT.get(None)) is not None:
        call.refresh()
    return answer


async def _with_a_thread_more(asking: Awaitable[T]) -> T:
    """Wait without using up a worker thread that other tools need."""
    limiter = anyio.to_thread.current_default_thread_limiter()
    if limiter.total_tokens - limiter.available_tokens > _MAX_WAITING_THREADS:
        give_up(asking)
        raise current_call().raisable(
            TooManyQuestions("too many plain `def` tools wait for a person at once")
        )
    limiter.total_tokens += 1
    try:
        return await asking
    finally:
        limiter.total_tokens -= 1
