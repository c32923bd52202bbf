"""Help with dates: today, a day or a month further, and which day of the week it is."""

from __future__ import annotations

from calendar import monthrange
from datetime import date, datetime, timedelta

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def stepped(text: str, now: datetime, *, days: int = 0, months: int = 0, with_time: bool = False) -> str:
    """The date in a field, some days or months further. An empty field starts at today."""
    day, rest = _split(text)
    if day is None:
        if text.strip():
            return text
        return now.replace(microsecond=0).isoformat() if with_time else now.date().isoformat()
    try:
        return (_months_on(day, months) + timedelta(days=days)).isoformat() + rest
    except (OverflowError, ValueError):
        return text


def spoken(text: str) -> str:
    """A date as people say it, with the day of the week; empty while it is none."""
    day, _ = _split(text)
    return "" if day is None else f"{_DAYS[day.weekday()]}, {day.day} {_MONTHS[day.month - 1]} {day.year}"


def _split(text: str) -> tuple[date | None, str]:
    try:
        return date.fromisoformat(text[:10]) if text[4:5] == "-" else None, text[10:]
    except ValueError:
        return None, ""


def _months_on(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return day.replace(year=year, month=month + 1, day=min(day.day, monthrange(year, month + 1)[1]))
