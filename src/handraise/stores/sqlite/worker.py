"""A thread that does one thing after the other.

The executors of the standard library make a future for each, and locks for the future; here nobody asks for one.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue


class Worker:
    """Does what it is given, in order. Its thread begins with the first work, and ends when nobody has it any more."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._begun = False

    def do(self, work: Callable[[], None]) -> None:
        """Have something done soon, by the thread. What goes wrong is for the work itself to tell."""
        if not self._begun:
            self._begin()
        self._work.put(work)

    def _begin(self) -> None:
        with self._lock:
            if not self._begun:
                self._begun = True
                weakref.finalize(self, self._work.put, None)
                # A daemon: a program that ends does not wait for it, and what is not acknowledged may be lost.
                threading.Thread(target=_do_all, args=(self._work,), name=self._name, daemon=True).start()


def _do_all(work: SimpleQueue[Callable[[], None] | None]) -> None:
    while (each := work.get()) is not None:
        each()
        del each  # it may be all that keeps the worker
