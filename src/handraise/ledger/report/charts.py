"""The charts of a report: columns of hours, days, weeks or months, and their geometry. The template draws them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Final, Literal

from handraise.ledger.report.figures import OUTCOMES, AskedQuestion, ReportOutcome

Unit = Literal["hour", "day", "week", "month"]
_LONGEST: Final[tuple[tuple[Unit, timedelta], ...]] = (
    ("hour", timedelta(hours=48)),
    ("day", timedelta(days=62)),
    ("week", timedelta(weeks=60)),
)
"""Up to which length a period is drawn in which unit."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """One column."""

    start: datetime
    counts: tuple[int, ...]
    """In the order of `OUTCOMES`."""

    @property
    def total(self) -> int:
        """How many questions were asked in it."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class Timeline:
    """All columns, the empty ones too."""

    unit: Unit
    buckets: tuple[Bucket, ...]


def timeline_of(cases: Sequence[AskedQuestion], since: datetime, until: datetime, zone: tzinfo) -> Timeline:
    """Put each question into the hour, day, week or month in which it was asked."""
    unit: Unit = next((unit for unit, longest in _LONGEST if until - since <= longest), "month")
    counted: dict[datetime, Counter[str]] = {}
    start = _start(since.astimezone(zone), unit)
    while start <= until:
        counted[start] = Counter()
        start = _next(start, unit)
    for case in cases:
        asked = datetime.fromtimestamp(case.asked / 1000, zone)
        counted.setdefault(_start(asked, unit), Counter())[case.outcome] += 1
    return Timeline(
        unit,
        tuple(
            Bucket(start, tuple(counts[outcome] for outcome in OUTCOMES))
            for start, counts in sorted(counted.items())
        ),
    )


def _start(time: datetime, unit: Unit) -> datetime:
    hour = time.replace(minute=0, second=0, microsecond=0)
    match unit:
        case "hour":
            return hour
        case "day":
            return hour.replace(hour=0)
        case "week":
            return hour.replace(hour=0) - timedelta(days=time.weekday())
        case "month":
            return hour.replace(hour=0, day=1)


def _next(start: datetime, unit: Unit) -> datetime:
    match unit:
        case "hour":
            return start + timedelta(hours=1)
        case "day":
            return start + timedelta(days=1)
        case "week":
            return start + timedelta(weeks=1)
        case "month":
            return _start(start + timedelta(days=32), unit)


WIDTH: Final = 720
HEIGHT: Final = 220
_LEFT: Final = 44
_BOTTOM: Final = 26
_TOP: Final = 16
_LABELS: Final = 12
"""How many labels fit below an axis."""
_SLENDER: Final = 64
"""A column is never wider than this: few questions are no wall."""

_STARTS: Final[dict[Unit, str]] = {"hour": "%d %b %H:%M", "day": "%d %b", "week": "%d %b", "month": "%b %Y"}


@dataclass(frozen=True, slots=True)
class ChartSegment:
    """A rectangle of one kind."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    count: int


@dataclass(frozen=True, slots=True)
class Column:
    """Pieces on top of each other, with a name below."""

    name: str
    labelled: bool
    middle: float
    top: float
    total: int
    pieces: tuple[ChartSegment, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Columns over an axis."""

    columns: tuple[Column, ...]
    lines: tuple[tuple[float, int], ...]
    """Where a horizontal line is, and the number it stands for."""
    left: float = _LEFT
    base: float = HEIGHT - _BOTTOM


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole, lying in a strip."""

    outcome: ReportOutcome
    count: int
    start: float
    """Percent from the left."""
    width: float
    """Percent of the whole."""


def strip(counts: Sequence[int], whole: int | None = None) -> tuple[Share, ...]:
    """Counts by outcome as parts of a strip; `whole` is the strip's full length."""
    full = whole or sum(counts) or 1
    shares, start = [], 0.0
    for outcome, count in zip(OUTCOMES, counts, strict=True):
        if count:
            width = 100 * count / full
            shares.append(Share(outcome, count, round(start, 3), round(width, 3)))
            start += width
    return tuple(shares)


def draw_timeline(timeline: Timeline) -> Chart:
    """A column for each hour, day, week or month, made of its outcomes."""
    names = [bucket.start.strftime(_STARTS[timeline.unit]) for bucket in timeline.buckets]
    return _chart(names, [bucket.counts for bucket in timeline.buckets], OUTCOMES)


def draw_spans(names: Sequence[str], counts: Sequence[int]) -> Chart:
    """A column for each span."""
    return _chart(names, [(count,) for count in counts], ("span",))


def _chart(names: Sequence[str], stacks: Sequence[Sequence[int]], kinds: Sequence[str]) -> Chart:
    highest = max((sum(stack) for stack in stacks), default=0)
    step = _step(highest)
    ceiling = max(step, -(-highest // step) * step)
    scale = (HEIGHT - _BOTTOM - _TOP) / ceiling
    room = (WIDTH - _LEFT) / max(1, len(stacks))
    every = -(-len(stacks) // _LABELS)
    columns = [
        _column(name, at % every == 0, _LEFT + at * room, room, scale, stack, kinds)
        for at, (name, stack) in enumerate(zip(names, stacks, strict=True))
    ]
    lines = tuple((round(HEIGHT - _BOTTOM - n * scale, 2), n) for n in range(0, ceiling + 1, step))
    return Chart(tuple(columns), lines)


def _column(
    name: str,
    labelled: bool,
    left: float,
    room: float,
    scale: float,
    stack: Sequence[int],
    kinds: Sequence[str],
) -> Column:
    width = min(room * 0.78, _SLENDER)
    x, y = left + (room - width) / 2, float(HEIGHT - _BOTTOM)
    pieces = []
    for kind, count in zip(kinds, stack, strict=True):
        if count:
            y -= count * scale
            pieces.append(
                ChartSegment(kind, round(x, 2), round(y, 2), round(width, 2), round(count * scale, 2), count)
            )
    return Column(name, labelled, round(left + room / 2, 2), round(y, 2), sum(stack), tuple(pieces))


def _step(highest: int) -> int:
    """A round number, so that four to eight lines cover the highest column."""
    step = 1
    while highest / step > 8:
        for factor in (2, 5, 10):
            if highest / (step * factor) <= 8:
                return step * factor
        step *= 10
    return step
