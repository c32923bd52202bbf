"""What an author gives as options: whether it is what each of them takes.

An option that is wrong is told where it is given, before a server starts and before any tool has an effect.
"""

from __future__ import annotations

import math
from typing import TypeGuard

from handraise.conversation import Store
from handraise.errors import SetupError


def require_seconds(name: str, value: object, *, zero: bool = False) -> float:
    """A number of seconds: finite, and above zero unless that means something."""
    if _is_number(value) and (0 < value < math.inf or (zero and value == 0)):
        return value
    raise SetupError(f"{name} takes a number of seconds{'' if zero else ' above 0'}, not {value!r}")


def require_count(name: str, value: object, *, least: int) -> int:
    """A whole number that is not too small."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    raise SetupError(f"{name} takes a whole number from {least} on, not {value!r}")


def require_one_of(name: str, value: object, *known: str) -> str:
    """One of a few words."""
    if isinstance(value, str) and value in known:
        return value
    raise SetupError(f"{name} takes {' or '.join(map(repr, known))}, not {value!r}")


def require_text(name: str, value: object, example: str) -> str:
    """Text that is not empty."""
    if isinstance(value, str) and value:
        return value
    raise SetupError(f"{name} takes text like {example}, not {value!r}")


def require_store(value: object) -> Store:
    """A store that somebody made."""
    if callable(getattr(value, "open_round", None)) and hasattr(value, "durable"):
        return value  # type: ignore[return-value]
    raise SetupError(f"store takes a path, postgresql://… or a Store, not {value!r}")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
