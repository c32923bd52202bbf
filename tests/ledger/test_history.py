"""A desk's history, from the ledger: whose, since when, and never what was said."""

from __future__ import annotations

import getpass
import os
import socket
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from tests.client.test_recording import asked, consent_with, events_of
from tests.desks.questions import ADA, EVERY_KIND
from tests.desks.web.visitor import InThisProcess, Visitor
from tests.ledger.examples import an_event

from handraise.desks import Decision, Queue
from handraise.desks.endings import Past
from handraise.desks.web import WebDesk
from handraise.errors import LedgerError
from handraise.ledger import Ledger
from handraise.ledger.events import Principal
from handraise.ledger.history import EventFilter, desk_history, is_person, parse_span, parse_when
from handraise.questions import Declined, FormQuestion, Person

EVE = Person("", "eve", "system")


async def declined_before(path: Path) -> Ledger:
    ledger = Ledger.at(path)
    await asked(consent_with(ledger), FormQuestion("Confidential?", EVERY_KIND), Decision(Declined()))
    await events_of(ledger)
    return ledger


@pytest.mark.shows("G2")
async def test_the_page_shows_what_was_decided_before_this_run_to_the_person_who_was_asked(
    tmp_path: Path,
) -> None:
    ledger = await declined_before(tmp_path / "ledger.db")
    desk = WebDesk(
        Queue(),
        port=7070,
        access=InThisProcess(),
        earlier=desk_history(ledger),
        now=lambda: time.time() + 3600,
    )
    for person, sees in ((None, True), (ADA, True), (EVE, False)):
        visitor = await Visitor(desk).sign_in(desk.sign_in_url(person))
        await visitor.get(f"{visitor.place}history")
        assert ("Before this run" in visitor.page) is sees
        assert ("A person declined it 1 hour ago." in visitor.page) is sees
        assert "Confidential" not in visitor.page
    await ledger.aclose()


async def test_what_is_decided_in_this_run_is_not_told_twice(tmp_path: Path) -> None:
    ledger = await declined_before(tmp_path / "ledger.db")
    assert await desk_history(ledger)(None, time.time() - 60) == []
    assert len(await desk_history(ledger)(None, time.time() + 60)) == 1
    await ledger.aclose()


async def test_a_ledger_that_cannot_be_read_is_told_and_the_page_stays() -> None:
    async def broken(person: Person | None, before: float) -> Sequence[Past]:
        raise LedgerError("no")

    visitor = await Visitor(WebDesk(Queue(), port=7070, access=InThisProcess(), earlier=broken)).sign_in()
    assert (await visitor.get(f"{visitor.place}history")).status_code == 200
    assert "The ledger cannot be read now" in visitor.page


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
        (EventFilter(server="notes"), EventFilter(server="Notes, the original")),
        (EventFilter(person="ada"), EventFilter(person="bob")),
        (EventFilter(tool="delete_note"), EventFilter(tool="delete")),
        (EventFilter(action="accept"), EventFilter(action="decline")),
        (EventFilter(action="accept"), EventFilter(action="said_no")),
        (EventFilter(kind="decided"), EventFilter(kind="asked")),
        (EventFilter(since=-1), EventFilter(until=0)),
        (EventFilter(server="notes", tool="delete_note"), EventFilter(server="notes", tool="delete")),
    ],
)
def test_an_event_is_wanted_only_when_it_is_all_that_was_asked_for(
    wanted: EventFilter, unwanted: EventFilter
) -> None:
    event = an_event("decided")
    assert wanted.matches(event)
    assert not unwanted.matches(event)


@pytest.mark.shows("O8", "G6")
def test_a_no_is_found_as_said_no_and_not_as_an_accept() -> None:
    said_no = an_event("decided", said="no")
    assert said_no.outcome == "said_no"
    assert EventFilter(action="said_no").matches(said_no)
    assert not EventFilter(action="accept").matches(said_no)
    assert not EventFilter(action="decline").matches(said_no)


def test_a_user_of_this_computer_is_found_by_login_name() -> None:
    me = Principal(socket.gethostname(), str(os.getuid()), "system")
    assert is_person(me, getpass.getuser())
