"""What a tool says about itself. These are claims: what is not said, or not said plainly, counts as the worst."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, assert_never

Hint = Literal["destructive", "writes", "any"]
"""Which tools a guard is for: those that may destroy, those that may change anything, or all of them."""

MEANING: Final[Mapping[Hint, str]] = MappingProxyType(
    {"destructive": "may destroy something", "writes": "may change something", "any": "do anything"}
)


def matches(hint: Hint, annotations: Mapping[str, Any] | None) -> bool:
    """Whether a tool is one of these, by its annotations. Only a plain `true` or `false` counts as said."""
    said = annotations or {}
    read_only = said.get("readOnlyHint") is True
    match hint:
        case "any":
            return True
        case "writes":
            return not read_only
        case "destructive":
            return not read_only and said.get("destructiveHint") is not False
    assert_never(hint)
