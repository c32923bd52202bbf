"""Columns over time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from tests.ledger.report.years import START, made_up

from handraise.ledger.report import questions_of
from handraise.ledger.report.page import draw_spans, draw_timeline, strip, timeline_of

SINCE = datetime.fromtimestamp(START / 1000, UTC)


@pytest.mark.parametrize(("days", "unit"), [(1, "hour"), (30, "day"), (200, "week"), (900, "month")])
def test_a_period_is_drawn_in_a_unit_that_can_be_read(days: int, unit: str) -> None:
    timeline = timeline_of([], SINCE, SINCE + timedelta(days=days), UTC)
    assert timeline.unit == unit
    assert len(timeline.buckets) <= 64


def test_every_question_is_in_one_column_and_empty_columns_are_there() -> None:
    cases = questions_of(made_up(300, days=10))
    timeline = timeline_of(cases, SINCE, SINCE + timedelta(days=20), UTC)
    assert sum(bucket.total for bucket in timeline.buckets) == sum(case.count for case in cases)
    assert len(timeline.buckets) >= 20


def test_a_day_begins_at_midnight_of_the_reader() -> None:
    zone = ZoneInfo("Asia/Tokyo")
    timeline = timeline_of([], SINCE, SINCE + timedelta(days=10), zone)
    assert all(bucket.start.hour == 0 and bucket.start.tzinfo is zone for bucket in timeline.buckets)


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
