"""Questions over time: columns of hours, days, weeks or months, whichever can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Final, Literal

from handraise.ledger.report.cases import OUTCOMES, Case

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


def timeline_of(cases: Sequence[Case], since: datetime, until: datetime, zone: tzinfo) -> Timeline:
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
