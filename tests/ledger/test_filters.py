"""Which events somebody wants: by each of their sides, and times as people type them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from tests.ledger.examples import an_event

from handraise.ledger.events import Principal
from handraise.ledger.filters import Filter, is_person, parse_span, parse_when

NOW = datetime(2026, 7, 28, 12, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("2h", datetime(2026, 7, 28, 8, tzinfo=UTC)),
        ("2026-07-01", datetime(2026, 6, 30, 22, tzinfo=UTC)),
        ("2026-07-01T09:30", datetime(2026, 7, 1, 7, 30, tzinfo=UTC)),
        ("2026-07-01T09:30:00Z", datetime(2026, 7, 1, 9, 30, tzinfo=UTC)),
    ],
)
def test_a_time_is_a_date_a_moment_or_how_long_ago(text: str, when: datetime) -> None:
    assert parse_when(text, NOW) == int(when.timestamp() * 1000)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "5y", "-3d"])
def test_anything_else_is_no_time(text: str) -> None:
    with pytest.raises(ValueError):
        parse_when(text, NOW)


def test_a_length_of_time_is_a_number_and_a_unit() -> None:
    assert parse_span("90d") == timedelta(days=90)
    assert parse_span("2w") == timedelta(weeks=2)
    assert parse_span("d") is None


def test_a_person_is_named_by_subject_or_key_and_by_nothing_else() -> None:
    ada = Principal("https://login.example", "8443:ada", "token")
    assert is_person(ada, "8443:ada")
    assert is_person(ada, ada.key)
    assert not is_person(ada, "ada")
    assert not is_person(ada, "https://login.example")
    assert not is_person(ada, "8443:ad")


@pytest.mark.shows("G6")
@pytest.mark.parametrize(
    ("wanted", "unwanted"),
    [
        (Filter(server="notes"), Filter(server="Notes, the original")),
        (Filter(person="ada"), Filter(person="bob")),
        (Filter(tool="delete_note"), Filter(tool="delete")),
        (Filter(action="accept"), Filter(action="decline")),
        (Filter(kind="decided"), Filter(kind="asked")),
        (Filter(since=-1), Filter(until=0)),
        (Filter(server="notes", tool="delete_note"), Filter(server="notes", tool="delete")),
    ],
)
def test_an_event_is_wanted_only_when_it_is_all_that_was_asked_for(wanted: Filter, unwanted: Filter) -> None:
    event = an_event("decided")
    assert wanted.matches(event)
    assert not unwanted.matches(event)
