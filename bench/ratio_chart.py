"""The plot of a part: each ratio as a dot on a logarithmic scale, its bar as a stroke."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor, log10

from bench.measure import Ratio, Table
from bench.svg import line, picture, text

_WIDTH, _LABEL, _ROW, _TOP, _RIGHT = 960, 520, 20, 44, 90


def ratio_chart(title: str, tables: Sequence[Table]) -> str:
    """Left of 1 ours takes less; a filled dot met its bar or has none, a hollow one missed it."""
    rows = [(table.title, ratio) for table in tables for ratio in table.ratios]
    shown = [value for _, ratio in rows for value in (ratio.ratio, ratio.at_most) if value is not None]
    low, high = floor(log10(min([1.0, *shown]) * 0.9)), ceil(log10(max([1.0, *shown]) * 1.1))

    def across(value: float) -> float:
        return _LABEL + (log10(value) - low) / (high - low) * (_WIDTH - _LABEL - _RIGHT)

    bottom = _TOP + _ROW * len(rows)
    parts = [text(8, 18, f"{title}: the time of handraise as a multiple of the other's")]
    for power in range(low, high + 1):
        x = across(10.0**power)
        parts += [
            line(x, _TOP - 8, x, bottom, "axis" if power == 0 else "faint"),
            text(x, _TOP - 12, _power(power), anchor="middle"),
        ]
    for at, (name, ratio) in enumerate(rows):
        parts += _row(_TOP + _ROW * (at + 0.5), f"{name} / {ratio.against}", ratio, across)
    return picture(_WIDTH, bottom + 12, f"Ratios of the part {title}", parts)


def _row(y: float, label: str, ratio: Ratio, across: Callable[[float], float]) -> list[str]:
    x = across(ratio.ratio)
    kind, shape = ("a", "dot") if ratio.met else ("c", "hollow")
    parts = [
        text(_LABEL - 14, y + 4, _short(label), anchor="end"),
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="4.5" class="{kind} {shape}"/>',
        text(_WIDTH - _RIGHT + 12, y + 4, f"{ratio.shown}{'' if ratio.met else ' missed'}", kind=kind),
    ]
    if ratio.at_most is not None:
        bar = across(ratio.at_most)
        parts.append(line(bar, y - 7, bar, y + 7, "bar"))
    return parts


def _short(label: str, limit: int = 84) -> str:
    return label if len(label) <= limit else f"{label[: limit - 1]}…"


def _power(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"1/{10**-power:,}"
