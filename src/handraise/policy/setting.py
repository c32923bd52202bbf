"""One setting, and how the class of its table declares it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from handraise.policy.accepts import Accepts, Switch

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, as it is documented and checked."""

    key: str
    default: object
    accepts: Accepts
    meaning: str
    own_file_only: bool
    """Never from the working directory: a project that somebody cloned must not run commands or switch off rules."""


def setting(default: T, accepts: Accepts, meaning: str, *, own_file_only: bool = False) -> T:
    """Declare a setting as a field of its table."""
    told = {"accepts": accepts, "meaning": meaning, "own_file_only": own_file_only}
    made: T = field(default=default, metadata=told)
    return made


def unsafe_switch(meaning: str) -> bool:
    """Declare a switch that weakens safety: off, and never from the working directory."""
    return setting(False, Switch(), meaning, own_file_only=True)
