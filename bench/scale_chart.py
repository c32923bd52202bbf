"""The plot of the scale part: what grows with the number of pending questions, and what does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log10

from bench.svg import picture, text

_WIDTH, _HEIGHT, _EDGE, _LABELS = 760, 380, 60, 170
_LINES: tuple[tuple[str, str, Callable[[Mapping[str, float]], float]], ...] = (
    ("memory of all, MiB", "a", lambda row: row["bytes"] * row["size"] / 2**20),
    ("parking all, s", "b", lambda row: row["park"] * row["size"]),
    ("answer p50, ms", "c", lambda row: row["p50"] * 1e3),
    ("answer p99, ms", "d", lambda row: row["p99"] * 1e3),
)


def chart(rows: Sequence[Mapping[str, float]]) -> str:
    """Logarithmic both ways, in the same scale for all: linear growth rises by ten for every ten."""
    sizes = [log10(row["size"]) for row in rows]
    values = [log10(max(value(row), 1e-3)) for _, _, value in _LINES for row in rows]
    low, high = min(values), max(values)

    def at(x: float, y: float) -> tuple[float, float]:
        across = (x - sizes[0]) / (sizes[-1] - sizes[0] or 1) * (_WIDTH - 2 * _EDGE - _LABELS)
        up = (y - low) / (high - low or 1) * (_HEIGHT - 2 * _EDGE)
        return _EDGE + across, _HEIGHT - _EDGE - up

    parts = [text(8, 18, "Pending questions on two nodes: what all of them cost, and what an answer takes")]
    for label, kind, value in _LINES:
        points = [at(x, log10(max(value(row), 1e-3))) for x, row in zip(sizes, rows, strict=True)]
        drawn = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
        parts.append(f'<polyline points="{drawn}" class="{kind} line"/>')
        for (x, y), row in zip(points, rows, strict=True):
            parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3.5" class="{kind} dot"/>')
            parts.append(text(x, y - 8, f"{value(row):,.1f}", anchor="middle", kind=kind))
        x, y = points[-1]
        parts.append(text(x + 26, y + 4, label, kind=kind))
    for size, row in zip(sizes, rows, strict=True):
        parts.append(text(at(size, low)[0], _HEIGHT - 20, f"{row['size']:,.0f}", anchor="middle"))
    return picture(_WIDTH, _HEIGHT, "Cost of pending questions by their number", parts)
