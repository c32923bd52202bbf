"""The page itself: one file of HTML that needs nothing from anywhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from importlib.resources import files
from typing import TYPE_CHECKING, Final, Literal

from handraise.ledger.events import LedgerEvent
from handraise.ledger.report.charts import HEIGHT, WIDTH, draw_spans, draw_timeline, strip, timeline_of
from handraise.ledger.report.figures import (
    OUTCOMES,
    SPANS,
    AskedQuestion,
    ReportOutcome,
    figures_of,
    questions_of,
)

if TYPE_CHECKING:
    from jinja2 import Template

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

    made = environment("handraise.ledger.report", static="")
    made.filters.update(lasting=lasting, percent=percent)
    made.globals["styles"] = [
        files(package).joinpath("static", name).read_text("utf-8")
        for package, name in (("handraise.site", "handraise.css"), ("handraise.ledger.report", "report.css"))
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
