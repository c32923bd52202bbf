"""When questions end unanswered: one timer for all of them.

A timer of the event loop for each question costs more than the rest of parking it, because the loop keeps
cancelled timers for a while and compares them in Python.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import math
from collections.abc import Callable
from itertools import count
from typing import Any, TypeAlias, TypeVarTuple, Unpack

Ts = TypeVarTuple("Ts")

_SLACK = 0.05
"""Deadlines are called a moment late, so that a retry which the store still takes always wins."""
_MANY = 64


Deadline: TypeAlias = list[Any]
"""A question's time: when it is over, a number that no other has, and the call to make then with its arguments.

The call is None when it was made, or dropped. A list, because the heap compares it and a drop changes it.
"""


class Deadlines:
    """The deadlines of one lot, soonest first."""

    def __init__(self) -> None:
        self._heap: list[Deadline] = []
        self._dropped = 0
        self._numbers = count()
        self._timer: asyncio.TimerHandle | None = None
        self._rings = math.inf
        """When the timer does."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """Where it does. One that was stopped with questions open will not ring for those of the next."""

    def __len__(self) -> int:
        return len(self._heap)

    def add(
        self,
        seconds: float,
        call: Callable[[Unpack[Ts]], object],
        *about: *Ts,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> Deadline:
        """Make a call when the seconds are over. The `loop` is the one that runs."""
        loop = loop or asyncio.get_running_loop()
        when = loop.time() + seconds + _SLACK
        deadline: Deadline = [when, next(self._numbers), call, about]
        heapq.heappush(self._heap, deadline)
        if when < self._rings or loop is not self._loop:
            self._set_timer(loop, when)
        return deadline

    def drop(self, deadline: Deadline) -> None:
        """Forget a deadline."""
        if deadline[2] is None:
            return
        deadline[2:] = None, ()
        self._dropped += 1
        if self._dropped > _MANY and self._dropped * 2 > len(self._heap):
            self._heap = [deadline for deadline in self._heap if deadline[2] is not None]
            heapq.heapify(self._heap)
            self._dropped = 0

    def clear(self) -> None:
        """Forget all of them; for a lot that closes."""
        self._heap.clear()
        self._dropped = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._rings = None, math.inf

    def _set_timer(self, loop: asyncio.AbstractEventLoop, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        # In a context of its own: a timer keeps the one it was set in, and with it the call that was served there.
        self._timer = loop.call_at(when, self._ring, loop, context=contextvars.Context())
        self._rings, self._loop = when, loop

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer, self._rings = None, math.inf
        now = loop.time()
        while self._heap and self._heap[0][0] <= now:
            deadline = heapq.heappop(self._heap)
            call, about = deadline[2:]
            deadline[2:] = None, ()
            if call is None:
                self._dropped -= 1
            else:
                call(*about)
        if self._heap:
            self._set_timer(loop, self._heap[0][0])
