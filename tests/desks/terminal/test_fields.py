"""Help with dates."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from handraise.desks.terminal.fields import stepped

NOW = datetime(2026, 7, 28, 14, 30, 5, 99, UTC)


def test_an_empty_field_starts_at_today_or_now() -> None:
    assert stepped("", NOW) == "2026-07-28"
    assert stepped("", NOW, with_time=True) == "2026-07-28T14:30:05+00:00"


@pytest.mark.parametrize(
    ("text", "days", "months", "then"),
    [
        ("2026-12-31", 1, 0, "2027-01-01"),
        ("2028-02-29", -1, 0, "2028-02-28"),
        ("2026-01-31", 0, 1, "2026-02-28"),
        ("2026-01-31", 0, -1, "2025-12-31"),
        ("2026-07-28T14:30:00Z", 1, 0, "2026-07-29T14:30:00Z"),
        ("9999-12-31", 1, 0, "9999-12-31"),
        ("0001-01-01", 0, -1, "0001-01-01"),
        ("soon", 1, 0, "soon"),
        ("2026-13-01", 1, 0, "2026-13-01"),
    ],
)
def test_a_date_goes_on_by_days_and_months_and_anything_else_stays(
    text: str, days: int, months: int, then: str
) -> None:
    assert stepped(text, NOW, days=days, months=months) == then
