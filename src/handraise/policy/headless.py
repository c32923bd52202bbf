"""What happens to a question when nobody sits at a desk. An answer is never invented."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Park:
    """Keep it under an id, for somebody to answer later."""


@dataclass(frozen=True, slots=True)
class RunHook:
    """Let a command of the user's answer: the question as JSON on standard input, the answer on standard output."""

    command: tuple[str, ...]
    timeout: float = 30.0


@dataclass(frozen=True, slots=True)
class CancelIt:
    """Cancel it, with the reason."""

    reason: str = "Nobody is here to answer."


Headless: TypeAlias = Park | RunHook | CancelIt
"""What happens to a question when nobody sits at a desk."""
