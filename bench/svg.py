"""A plot as one SVG file: its own background and colours for light and for dark, and nothing from outside."""

from __future__ import annotations

from html import escape
from typing import Final

_STYLE: Final = (
    "text{font:12px sans-serif;fill:#222}.paper{fill:#fff}.axis{stroke:#888}.faint{stroke:#ddd}"
    ".a{--c:#1f5fa8}.b{--c:#2e7d32}.c{--c:#b3541e}.d{--c:#7b1fa2}"
    ".line{fill:none;stroke:var(--c);stroke-width:2}.dot{fill:var(--c)}.hollow{fill:none;stroke:var(--c);stroke-width:2}"
    "text.a,text.b,text.c,text.d{fill:var(--c)}.bar{stroke:#222;stroke-width:2}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.paper{fill:#1b1d22}.faint{stroke:#3a3d45}.bar{stroke:#ddd}"
    ".a{--c:#7fb2ee}.b{--c:#81c784}.c{--c:#f0a06b}.d{--c:#ce93d8}}"
)


def picture(width: int, height: int, title: str, parts: list[str]) -> str:
    """The whole file; the title is what a screen reader says."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>{escape(title)}</title><style>{_STYLE}</style>'
        f'<rect class="paper" width="{width}" height="{height}"/>{"".join(parts)}</svg>\n'
    )


def text(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "") -> str:
    """Words at a place."""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" class="{kind}"/>'
