"""`working_time`: a time limit that does not count the time in which a person thinks."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

from handraise.errors import UsageError


class _Limit:
    """A time limit that stands still while at least one question is open."""

    def __init__(self, seconds: float) -> None:
        self.timeout: asyncio.Timeout = asyncio.timeout(seconds)
        self.is_over = False
        self._left = 0.0
        self._questions = 0

    def pause(self) -> None:
        end = self.timeout.when()
        if not self._questions and end is not None and self._runs():
            self._left = end - asyncio.get_running_loop().time()
            self.timeout.reschedule(None)
        self._questions += 1

    def go_on(self) -> None:
        self._questions -= 1
        if not self._questions and self.timeout.when() is None and self._runs():
            self.timeout.reschedule(asyncio.get_running_loop().time() + self._left)

    def _runs(self) -> bool:
        """Whether it can still be moved: a task may ask that the limit began and did not wait for."""
        return not self.is_over and not self.timeout.expired()


_LIMITS: ContextVar[tuple[_Limit, ...]] = ContextVar("handraise_working_time", default=())
"""The limits around the code that runs. A task or a thread that starts inside of one has it too."""


@asynccontextmanager
async def working_time(seconds: float) -> AsyncIterator[None]:
    """Limit what the body does itself: raise `TimeoutError` when it takes longer than these seconds.

    The limit stands still while a question is open that was asked inside of it, also by a task or a thread. Any
    other time limit (`asyncio.timeout`, `anyio.fail_after`, a FastMCP tool's `timeout=`) counts the person's time.
    """
    if not isinstance(seconds, int | float) or not 0 < seconds < math.inf:  # type: ignore[redundant-expr]
        raise UsageError(f"working_time takes seconds, as in working_time(10), not {seconds!r}")
    limit = _Limit(seconds)
    before = _LIMITS.set((*_LIMITS.get(), limit))
    try:
        async with limit.timeout:
            yield
    finally:
        limit.is_over = True
        _LIMITS.reset(before)


@contextmanager
def person_time() -> Iterator[None]:
    """While a person thinks: the `working_time` limits around it stand still."""
    limits = _LIMITS.get()
    for limit in limits:
        limit.pause()
    try:
        yield
    finally:
        for limit in limits:
            limit.go_on()


def leave_limits() -> None:
    """Be in no limit: for a question that is sent early, while the body goes on with its work."""
    _LIMITS.set(())
