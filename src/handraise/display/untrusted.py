"""A type for text from the other side that does not leak it by accident."""

from __future__ import annotations

from dataclasses import dataclass, field

from handraise.display.places import for_html, for_line


@dataclass(frozen=True, slots=True)
class UntrustedText:
    """Text that somebody else wrote. However it is printed, it comes out inert.

    `str()`, f-strings and `repr()` give one inert line; templates that escape by
    `__html__` get safe markup. The text itself is `.raw`, for checking and hashing.
    """

    raw: str = field(repr=False)

    def __str__(self) -> str:
        return for_line(self.raw)

    def __format__(self, format_spec: str) -> str:
        return format(str(self), format_spec)

    def __repr__(self) -> str:
        return f"UntrustedText({str(self)!r})"

    def __html__(self) -> str:
        return for_html(self.raw)
