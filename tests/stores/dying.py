"""Death at named points in the life of a question: right after the store did something, before anybody hears of it.

A node under test is given a store that kills the process, as `kill -9` does. Nothing in the product knows of it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from handraise.calls.store import DeliveredAnswers, OnAnswered

POINTS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "asked": ("open_round", lambda _: True),
    "answer taken": ("consume", lambda taken: taken.verdict == "first"),
    "answer taken for another": ("consume", lambda taken: taken.elsewhere),
    "answer taken up": ("take_delivered", lambda brought: brought is not None),
    "result written": ("settle", lambda _: True),
}
"""After which method of the store a node dies, and whether this call of it counts."""
BROUGHT = "answer brought"
"""A node dies when it learns of an answer that another one took, before its body does."""


class Dying:
    """Kills this process when it reaches a point."""

    def __init__(self, point: str) -> None:
        self._point = point

    def reached(self, point: str) -> None:
        """Die here, if this is the point."""
        if point == self._point:
            os.kill(os.getpid(), signal.SIGKILL)

    def store(self, store: Any) -> Any:
        """The store, deadly behind the method of the point."""
        if self._point in POINTS:
            name, counts = POINTS[self._point]
            method = getattr(store, name)

            async def deadly(*args: Any, **more: Any) -> Any:
                result = await method(*args, **more)
                if counts(result):
                    self.reached(self._point)
                return result

            setattr(store, name, deadly)
        if self._point in (BROUGHT, "answer taken up"):
            store.on_answered = self._listeners(store.on_answered)
        return store

    def _listeners(self, on_answered: Callable[[OnAnswered], None]) -> Callable[[OnAnswered], None]:
        """Whoever is to die when it takes up an answer is brought none: as if it did not fit into the hint."""

        def attending(answered: OnAnswered) -> None:
            def told(token: str, brought: DeliveredAnswers | None) -> bool:
                self.reached(BROUGHT)
                return answered(token, None)

            on_answered(told)

        return attending
