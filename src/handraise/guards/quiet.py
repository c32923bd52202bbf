"""A pause after a decline: who said no is not asked the same thing again at once."""

from __future__ import annotations

import math
from collections.abc import Callable

from handraise.errors import GuardRefused

_MOST = 10_000


class Quiet:
    """Remembers who declined which tool, for `seconds`. With none, nothing is remembered."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._seconds = seconds
        self._clock = clock
        self._until: dict[tuple[str, str], float] = {}

    def begin(self, person: str, tool: str) -> None:
        """Somebody declined just now."""
        if self._seconds <= 0:
            return
        self._until.pop((person, tool), None)  # to the end, behind those that are over sooner
        self._until[person, tool] = self._clock() + self._seconds
        while len(self._until) > _MOST:
            del self._until[next(iter(self._until))]

    def require_over(self, person: str, tool: str) -> None:
        """Refuse a call that comes too soon after a decline."""
        left = self._until.get((person, tool), 0.0) - self._clock()
        if left > 0:
            raise GuardRefused(
                f"The person declined {tool} a moment ago and is not asked again for {math.ceil(left)} seconds. "
                "Nothing was done. Talk to them first.",
                category="cooling_down",
            )
