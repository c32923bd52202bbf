"""The author's name, logo and colour on a page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from handraise.errors import SetupError

_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{6}")
_LOGOS: Final = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
    b"<svg": "image/svg+xml",
    b"<?xml": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Brand:
    """How pages present themselves. The logo is the bytes of a PNG, JPEG, GIF, WebP or SVG picture."""

    name: str | None = None
    logo: bytes | None = None
    colour: str | None = None
    """`#rrggbb`, for the line at the top and the main button."""

    def __post_init__(self) -> None:
        if self.colour is not None and not _COLOUR.fullmatch(self.colour):
            raise SetupError(f"a brand's colour is written #rrggbb, not {self.colour!r}")
        if self.logo is not None and self.logo_type is None:
            raise SetupError("a brand's logo is the bytes of a PNG, JPEG, GIF, WebP or SVG picture")

    @property
    def logo_type(self) -> str | None:
        """The media type of the logo."""
        logo = (self.logo or b"").lstrip()
        return next((kind for start, kind in _LOGOS.items() if logo.startswith(start)), None)

    @property
    def stylesheet(self) -> str:
        """The colour as a stylesheet; the text on it is black or white, depending on contrast."""
        if self.colour is None:
            return ""
        ink = "#ffffff" if _luminance(self.colour) < 0.179 else "#000000"
        return (
            f".top {{ border-bottom: 4px solid {self.colour}; }}\n"
            f"button.main, .button.main, button.main:hover, .button.main:hover "
            f"{{ background: {self.colour}; border-color: {self.colour}; color: {ink}; }}\n"
        )


def _luminance(colour: str) -> float:
    """The relative luminance of a colour (WCAG)."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return 0.2126 * _linear(red) + 0.7152 * _linear(green) + 0.0722 * _linear(blue)


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)
