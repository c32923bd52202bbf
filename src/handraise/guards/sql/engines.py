"""What the guard needs of an engine: what it has, and what a statement would cost by its own estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from handraise.guards.sql.schema import Path, Schema


class CannotEstimate(Exception):
    """The engine gives no estimate, or does not say what it has. The message says why, for the model."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the engine expects of one statement.

    - `rows`: the most rows that any step of its plan goes through.
    - `tables`: the tables in its plan, and `columns` those that the plan says are read, where it says so.
    """

    rows: int
    tables: frozenset[Path] = frozenset()
    columns: frozenset[tuple[Path, str]] = frozenset()


class Engine(Protocol):
    """An engine that statements run on."""

    @property
    def dialect(self) -> str:
        """What the parser calls its SQL."""
        ...

    async def schema(self) -> Schema:
        """What it has now. Raises `CannotEstimate`."""
        ...

    async def estimate(self, statement: str) -> Estimate:
        """What one statement, and no more than one, would cost; it is not run. Raises `CannotEstimate`."""
        ...
