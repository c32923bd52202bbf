"""What was decided before this run, for a desk that shows it. Whoever keeps a record gives it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from handraise.questions import Person


@dataclass(frozen=True, slots=True)
class Past:
    """One decision. What was asked and what was sent are not in it."""

    server: str
    tool: str | None
    sentence: str
    at: float
    """Seconds since 1970."""


Earlier: TypeAlias = Callable[[Person | None, float], Awaitable[Sequence[Past]]]
"""The latest decisions about one person's questions, or about all, before a moment; newest first."""
