"""The plot of the scale part: what grows with the number of pending questions, and what does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log10

_WIDTH, _HEIGHT, _EDGE = 640, 360, 60
_LINES: tuple[tuple[str, str, Callable[[Mapping[str, float]], float]], ...] = (
    ("memory of all, MiB", "#1f5fa8", lambda row: row["bytes"] * row["size"] / 2**20),
    ("parking all, s", "#2e7d32", lambda row: row["park"] * row["size"]),
    ("answer p50, ms", "#b3541e", lambda row: row["p50"] * 1e3),
    ("answer p99, ms", "#7b1fa2", lambda row: row["p99"] * 1e3),
)


def chart(rows: Sequence[Mapping[str, float]]) -> str:
    """Logarithmic both ways: a straight line that rises by ten for every ten is linear growth."""
    sizes = [log10(row["size"]) for row in rows]
    values = [log10(max(value(row), 1e-3)) for _, _, value in _LINES for row in rows]
    low, high = min(values), max(values)

    def at(x: float, y: float) -> tuple[float, float]:
        across = (x - sizes[0]) / (sizes[-1] - sizes[0]) * (_WIDTH - 3 * _EDGE)
        up = (y - low) / (high - low or 1) * (_HEIGHT - 2 * _EDGE)
        return _EDGE + across, _HEIGHT - _EDGE - up

    parts = []
    for label, colour, value in _LINES:
        points = [at(x, log10(max(value(row), 1e-3))) for x, row in zip(sizes, rows, strict=True)]
        drawn = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for (x, y), row in zip(points, rows, strict=True):
            parts.append(f'<text x="{x - 10:.0f}" y="{y - 6:.0f}" fill="{colour}">{value(row):,.1f}</text>')
        x, y = points[-1]
        parts.append(f'<text x="{x + 12:.0f}" y="{y + 10:.0f}" fill="{colour}">{label}</text>')
    for x, row in zip(sizes, rows, strict=True):
        parts.append(f'<text x="{at(x, low)[0] - 20:.0f}" y="{_HEIGHT - 20}">{row["size"]:,.0f}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" '
        f'font-size="11"><rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
    )
