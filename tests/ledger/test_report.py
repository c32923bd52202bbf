"""The report as a page, and its columns over time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tests.desks.web.browsing import open_browser
from tests.ledger.years import PEOPLE, START, made_up

from handraise.ledger import EventContext, LedgerEvent, ServerRecord
from handraise.ledger.figures import questions_of
from handraise.ledger.report import (
    LedgerStatus,
    draw_spans,
    draw_timeline,
    lasting,
    percent,
    render_report,
    strip,
    timeline_of,
)

NOW = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
SOUND = LedgerStatus("ledger.db", 5_000, "root", "sound")

pytestmark = pytest.mark.shows("G6")


def test_the_page_needs_nothing_from_anywhere() -> None:
    page = render_report(made_up(200), now=NOW, standing=SOUND)
    assert not re.search(r"""(?:src|href)\s*=|<script|@import|url\((?!#)""", page)


def test_an_empty_ledger_says_so() -> None:
    assert "Nothing was asked in this time." in render_report([], now=NOW)


def test_a_ledger_that_does_not_verify_is_said_so_before_any_number() -> None:
    broken = LedgerStatus("ledger.db", 7, "root", "broken", ("record 3 was changed",))
    page = render_report(made_up(50), now=NOW, standing=broken)
    assert page.index("does not verify") < page.index("At a glance")
    assert "record 3 was changed" in page


@pytest.mark.shows("G4")
def test_a_ledger_that_nothing_proves_is_not_called_verified() -> None:
    unproven = LedgerStatus("ledger.db", 7, "root", "unproven", ("The ledger's key is not here.",))
    page = render_report(made_up(50), now=NOW, standing=unproven)
    assert page.index("Nothing proves this ledger") < page.index("At a glance")
    assert "key is not here" in page
    assert "The ledger verifies" not in page


@pytest.mark.shows("D7")
def test_what_servers_call_themselves_is_inert() -> None:
    hostile = EventContext(ServerRecord("</style><script>alert(1)</script>\u202e", "x\x1b[2J"), PEOPLE[0])
    page = render_report([LedgerEvent("e", "q", "expired", START, hostile)], now=NOW)
    assert "<script" not in page
    assert "\u202e" not in page
    assert "\x1b" not in page


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        render_report([], now=datetime(2026, 11, 2))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (None, "–"),
        (40, "0.0 s"),
        (9_400, "9.4 s"),
        (10_000, "10 s"),
        (46_000, "46 s"),
        (90_000, "2 min"),
        (600_000, "10 min"),
        (5_400_000, "1.5 h"),
        (7_200_000, "2.0 h"),
        (172_800_000, "2.0 days"),
    ],
)
def test_times_are_said_as_people_say_them(milliseconds: float | None, said: str) -> None:
    assert lasting(milliseconds) == said


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [(0, 0, "–"), (0, 5, "0%"), (1, 1000, "<1%"), (3, 4, "75%"), (999, 1000, "99%"), (5, 5, "100%")],
)
def test_a_share_is_never_rounded_to_none_or_all(part: int, whole: int, said: str) -> None:
    assert percent(part, whole) == said


@pytest.mark.stranger
async def test_five_thousand_events_fit_a_screen_a_phone_and_paper(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_report(made_up(5_000), now=NOW, standing=SOUND), encoding="utf-8")
    complaints: list[str] = []
    async with open_browser() as browser:
        for width, media in ((1_000, "screen"), (390, "screen"), (688, "print")):
            page = await browser.new_page(viewport={"width": width, "height": 900})
            page.on("console", lambda message: complaints.append(message.text))
            await page.emulate_media(media="print" if media == "print" else "screen")
            await page.goto(file.as_uri())
            assert await page.evaluate("document.documentElement.scrollWidth") <= width
            assert await page.locator("svg.chart").count() == 2
            drawn = "strips => Math.min(...strips.map(strip => strip.getBoundingClientRect().width))"
            assert await page.locator(".breakdown .strip").evaluate_all(drawn) > 60, "every row has its bar"
            await page.close()
    assert complaints == []


SINCE = datetime.fromtimestamp(START / 1000, UTC)


@pytest.mark.parametrize(("days", "unit"), [(1, "hour"), (30, "day"), (200, "week"), (900, "month")])
def test_a_period_is_drawn_in_a_unit_that_can_be_read(days: int, unit: str) -> None:
    timeline = timeline_of([], SINCE, SINCE + timedelta(days=days), UTC)
    assert timeline.unit == unit
    assert len(timeline.counts) <= 64


def test_every_question_is_in_one_column_and_empty_columns_are_there() -> None:
    cases = questions_of(made_up(300, days=10))
    timeline = timeline_of(cases, SINCE, SINCE + timedelta(days=20), UTC)
    assert sum(map(sum, timeline.counts.values())) == sum(case.count for case in cases)
    assert len(timeline.counts) >= 20


def test_a_day_begins_at_midnight_of_the_reader() -> None:
    zone = ZoneInfo("Asia/Tokyo")
    timeline = timeline_of([], SINCE, SINCE + timedelta(days=10), zone)
    assert all(start.hour == 0 and start.tzinfo is zone for start in timeline.counts)


@pytest.mark.parametrize("highest", [0, 1, 7, 8, 9, 63, 441, 99_999])
def test_an_axis_has_round_numbers_and_covers_the_highest_column(highest: int) -> None:
    chart = draw_spans(["a", "b"], [highest, 0])
    numbers = [number for _, number in chart.lines]
    assert numbers[0] == 0
    assert numbers[-1] >= highest
    assert 2 <= len(numbers) <= 10
    assert all(str(number).rstrip("0") in {"", *map(str, range(1, 100))} for number in numbers)


def test_pieces_stand_on_each_other_inside_the_chart() -> None:
    cases = questions_of(made_up(300))
    chart = draw_timeline(timeline_of(cases, SINCE, SINCE + timedelta(days=45), UTC))
    for column in chart.columns:
        floor = chart.base
        for piece in column.pieces:
            assert piece.y + piece.height == pytest.approx(floor, abs=0.05)
            assert piece.x >= chart.left
            floor = piece.y
        assert floor >= 0


def test_the_parts_of_a_strip_make_the_whole() -> None:
    shares = strip([3, 0, 0, 1, 0, 0, 0, 4])
    assert [share.outcome for share in shares] == ["accepted", "cancelled", "waiting"]
    assert sum(share.width for share in shares) == pytest.approx(100, abs=0.01)
    assert strip([0] * 8) == ()
