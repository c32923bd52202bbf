"""The plot of the scale part: the figures that grow with the number of pending questions, and those that do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor, log10

from bench.svg import line, picture, text

_WIDTH, _HEIGHT, _EDGE, _LABELS = 760, 380, 60, 170
_BESIDE = 30
"""The room for a number beside its point."""
_TALL = 24
"""The room for a number above its point; without it the number stands beside the point."""
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
    low, high = floor(min(values)), ceil(max(values))

    def at(x: float, y: float) -> tuple[float, float]:
        across = (x - sizes[0]) / (sizes[-1] - sizes[0] or 1) * (_WIDTH - 2 * _EDGE - _BESIDE - _LABELS)
        up = (y - low) / (high - low or 1) * (_HEIGHT - 2 * _EDGE)
        return _EDGE + _BESIDE + across, _HEIGHT - _EDGE - up

    parts = [
        text(8, 18, "Pending questions on two nodes: the cost of all of them, and the time of an answer")
    ]
    for power in range(low, high + 1):
        y = at(sizes[0], power)[1]
        parts.append(line(_EDGE - 20, y, _WIDTH - _EDGE - _LABELS + 20, y, "faint"))
        parts.append(text(_EDGE - 26, y + 4, f"{10.0**power:,g}", anchor="end"))
    lines = [
        [at(x, log10(max(value(row), 1e-3))) for x, row in zip(sizes, rows, strict=True)]
        for *_, value in _LINES
    ]
    for (label, kind, value), points in zip(_LINES, lines, strict=True):
        drawn = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
        parts.append(f'<polyline points="{drawn}" class="{kind} line"/>')
        for column, ((x, y), row) in enumerate(zip(points, rows, strict=True)):
            parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3.5" class="{kind} dot"/>')
            crowded = any(y - _TALL < other[column][1] < y for other in lines)
            place = (x - 8, y + 4, "end") if crowded else (x, y - 8, "middle")
            parts.append(text(*place[:2], f"{value(row):,.1f}", anchor=place[2], kind=kind))
        x, y = points[-1]
        parts.append(text(x + 26, y + 4, label, kind=kind))
    for size, row in zip(sizes, rows, strict=True):
        parts.append(text(at(size, low)[0], _HEIGHT - 34, f"{row['size']:,.0f}", anchor="middle"))
    parts.append(text(at(sizes[0], low)[0], _HEIGHT - 14, "pending questions"))
    return picture(_WIDTH, _HEIGHT, "Cost of pending questions by their number", parts)
