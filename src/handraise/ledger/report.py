"""The page itself: one file of HTML that needs nothing from anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from importlib.resources import files
from typing import TYPE_CHECKING, Final, Literal

from handraise.ledger.events import LedgerEvent
from handraise.ledger.figures import (
    OUTCOMES,
    SPANS,
    AskedQuestion,
    ReportOutcome,
    figures_of,
    questions_of,
)

if TYPE_CHECKING:
    from jinja2 import Template


Unit = Literal["hour", "day", "week", "month"]
_LONGEST: Final[tuple[tuple[Unit, timedelta], ...]] = (
    ("hour", timedelta(hours=48)),
    ("day", timedelta(days=62)),
    ("week", timedelta(weeks=60)),
)
"""Up to which length a period is drawn in which unit."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """How the questions of each hour, day, week or month ended, the empty ones too."""

    unit: Unit
    counts: Mapping[datetime, tuple[int, ...]]
    """By the start of each, in the order of `OUTCOMES`."""


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
        counted.setdefault(_start(asked, unit), Counter())[case.outcome] += case.count
    return Timeline(
        unit,
        {start: tuple(counts[outcome] for outcome in OUTCOMES) for start, counts in sorted(counted.items())},
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
    names = [start.strftime(_STARTS[timeline.unit]) for start in timeline.counts]
    return _chart(names, list(timeline.counts.values()), OUTCOMES)


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


WORDS: Final[dict[ReportOutcome, str]] = {
    "accepted": "Accepted",
    "said_no": "Said no",
    "declined": "Declined",
    "cancelled": "Cancelled",
    "expired": "Expired",
    "refused": "Refused by rule",
    "unanswered": "No answer",
    "waiting": "Waiting",
}
MEANINGS: Final[dict[ReportOutcome, str]] = {
    "accepted": "the person agreed, and what they entered was sent",
    "said_no": "the person answered a confirmation with no",
    "declined": "the person declined to answer",
    "cancelled": "the person dismissed the question without deciding",
    "expired": "nobody answered in time",
    "refused": "a rule stopped the question before anyone saw it, or stopped its answer",
    "unanswered": "the asker went away, the client failed, or a process ended in between",
    "waiting": "nothing has ended it yet",
}
_DECIDERS: Final = {
    "human": "a person",
    "policy": "a rule",
    "agent": "the program",
    "timeout": "the clock",
    "client": "the client",
}
_USES: Final = {
    "result": "the call went on and succeeded",
    "error": "the call went on and failed",
    "cancelled": "the call was cancelled afterwards",
    "stopped": "the person said no after all, and the call did nothing",
    "ambiguous": "nobody knows how the call ended",
    "not used": "no call is recorded that used the answer",
}
_MODES: Final = {"form": "forms", "url": "links to a browser", "unknown": "of unknown kind"}


@dataclass(frozen=True, slots=True)
class LedgerStatus:
    """The state of the ledger behind a report."""

    name: str
    size: int
    root: str
    verdict: Literal["sound", "broken", "unproven"]
    findings: tuple[str, ...] = ()
    """The verdict, or the reason why nothing is proved."""


def render_report(
    events: Iterable[LedgerEvent],
    *,
    now: datetime,
    since: datetime | None = None,
    until: datetime | None = None,
    standing: LedgerStatus | None = None,
) -> str:
    """The report on the questions of some events. `now` carries the time zone that it is written in."""
    zone = now.tzinfo
    if zone is None:
        raise ValueError("now needs a time zone")
    cases = questions_of(events)
    start, end = _period(cases, since, until, now, zone)
    figures = figures_of(cases)
    timeline = timeline_of(cases, start, end, zone)
    most = max((row.total for row in figures.servers), default=1)
    return _template().render(
        figures=figures,
        outcomes=OUTCOMES,
        words=WORDS,
        meanings=MEANINGS,
        deciders=_DECIDERS,
        uses=_USES,
        modes=_MODES,
        strip=strip,
        most=most,
        timeline=timeline,
        over_time=draw_timeline(timeline),
        spans=draw_spans([name for name, _ in SPANS], figures.thinking.counts),
        width=WIDTH,
        height=HEIGHT,
        start=start,
        end=end,
        now=now,
        standing=standing,
    )


def _period(
    cases: list[AskedQuestion], since: datetime | None, until: datetime | None, now: datetime, zone: tzinfo
) -> tuple[datetime, datetime]:
    first = datetime.fromtimestamp(cases[0].asked / 1000, zone) if cases else now - timedelta(hours=1)
    last = datetime.fromtimestamp(cases[-1].asked / 1000, zone) if cases else now
    return (since or first).astimezone(zone), (until or last).astimezone(zone)


def _template() -> Template:
    from handraise.site.rendering import environment

    made = environment("handraise.ledger", static="")
    made.filters.update(lasting=lasting, percent=percent)
    made.globals["styles"] = [
        files(package).joinpath("static", name).read_text("utf-8")
        for package, name in (("handraise.site", "handraise.css"), ("handraise.ledger", "report.css"))
    ]
    return made.get_template("report.html")


def lasting(milliseconds: float | None) -> str:
    """A length of time as people say it."""
    if milliseconds is None:
        return "–"
    seconds = milliseconds / 1000
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"


def percent(part: int, whole: int) -> str:
    """A share as people say it: never 0% of something, never 100% of less than all."""
    if not whole:
        return "–"
    share = 100 * part / whole
    if 0 < share < 1:
        return "<1%"
    return f"{min(share, 99) if part < whole else 100:.0f}%"
