"""A desk's history, from the ledger: whose, since when, and never what was said. And the formats of other programs."""

from __future__ import annotations

import base64
import getpass
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from cloudevents.core.formats.json import JSONFormat
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from tests.client.test_recording import asked, consent_with, events_of
from tests.desks.questions import ADA, EVERY_KIND
from tests.desks.web.visitor import InThisProcess, Visitor
from tests.ledger.examples import ABOUT, NOTES, an_event

from handraise.desks import Decision, Queue
from handraise.desks.endings import Past
from handraise.desks.web import WebDesk
from handraise.errors import LedgerError
from handraise.ledger import KINDS, Ledger, LedgerEvent, dump_event
from handraise.ledger.events import Principal
from handraise.ledger.views import FORMATS, EventFilter, desk_history, is_person, parse_span, parse_when
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


pytestmark = pytest.mark.shows("G6")
MANY = 250


class Source:
    """Events, and how many of them were taken."""

    def __init__(self) -> None:
        self.taken = 0

    async def events(self) -> AsyncIterator[tuple[int, LedgerEvent]]:
        for number in range(1, MANY + 1):
            self.taken = number
            yield number, an_event(KINDS[number % len(KINDS)], number)


@pytest.mark.parametrize(("name", "ahead"), [("jsonl", 1), ("csv", 1), ("cloudevents", 1), ("otel", 100)])
async def test_no_more_is_in_memory_than_what_is_written_next(name: str, ahead: int) -> None:
    source, lines, before = Source(), 0, 0
    async for _ in FORMATS[name](source.events(), "origin"):
        assert source.taken - before <= ahead
        before, lines = source.taken, lines + 1
    assert before == MANY
    assert lines == {"csv": MANY + 1, "otel": 3}.get(name, MANY)


async def test_a_cloudevent_has_what_the_standard_asks_for_and_the_whole_event() -> None:
    async for line in FORMATS["cloudevents"](Source().events(), "origin"):
        said = json.loads(line)
        assert said["specversion"] == "1.0"
        assert all(said[name] for name in ("id", "source", "type", "subject", "time", "data"))
        assert all(name.islower() and name.isalnum() for name in said)
        assert said["id"] == said["data"]["id"]
        assert said["type"] == f"handraise.question.{said['data']['kind']}"


async def test_a_log_record_has_a_time_a_severity_and_every_member_of_its_event() -> None:
    async for line in FORMATS["otel"](Source().events(), "origin"):
        (resource,) = json.loads(line)["resourceLogs"]
        for record in resource["scopeLogs"][0]["logRecords"]:
            names = {attribute["key"] for attribute in record["attributes"]}
            assert {"handraise.kind", "handraise.question", "handraise.about.server.id"} <= names
            assert int(record["timeUnixNano"]) % 1_000_000 == 0
            assert record["severityNumber"] in (9, 13)
            assert len(record["traceId"]) == 32


@pytest.mark.shows("G6")
async def test_the_sdk_of_the_standard_reads_every_line_with_the_whole_event() -> None:
    lines = [line async for line in FORMATS["cloudevents"](Source().events(), "origin")]
    read = [JSONFormat().read(None, line) for line in lines]
    events = [event async for _, event in Source().events()]
    assert len(read) == MANY
    for number, (cloud, event) in enumerate(zip(read, events, strict=True), 1):
        assert (cloud.get_id(), cloud.get_source()) == (event.id, "urn:handraise:ledger:origin")
        assert cloud.get_type() == f"handraise.question.{event.kind}"
        assert cloud.get_subject() == event.question
        assert (when := cloud.get_time()) is not None
        assert round(when.timestamp() * 1000) == event.time
        assert int(cloud.get_extension("sequence")) == number
        told = {} if event.outcome is None else {"outcome": event.outcome}
        assert cloud.get_data() == {**json.loads(dump_event(event)), **told}


def parsed(line: str) -> list[LogRecord]:
    """The records of a line. Unknown members are errors; ids are hex in OTLP, and not base64 as in other JSON."""
    logs = json.loads(line)
    for record in logs["resourceLogs"][0]["scopeLogs"][0]["logRecords"]:
        record["traceId"] = base64.b64encode(bytes.fromhex(record["traceId"])).decode()
    read: Any = ParseDict(logs, LogsData())
    (resource,) = read.resource_logs
    assert {each.key for each in resource.resource.attributes} == {"service.name", "handraise.ledger"}
    return list(resource.scope_logs[0].log_records)


@pytest.mark.shows("G6")
async def test_the_messages_of_the_protocol_read_every_record() -> None:
    lines = [line async for line in FORMATS["otel"](Source().events(), "origin")]
    records = [record for line in lines for record in parsed(line)]
    events = [event async for _, event in Source().events()]
    assert len(records) == MANY
    for number, (record, event) in enumerate(zip(records, events, strict=True), 1):
        said = {each.key: each.value for each in record.attributes}
        assert record.time_unix_nano == event.time * 1_000_000
        assert record.event_name == f"handraise.question.{event.kind}"
        assert record.trace_id.hex() == event.about.trace
        assert said["handraise.number"].int_value == number
        assert said["handraise.id"].string_value == event.id


@pytest.mark.shows("O8")
@pytest.mark.parametrize("name", FORMATS)
async def test_a_no_is_told_from_an_accept_in_every_format(name: str) -> None:
    async def events() -> AsyncIterator[tuple[int, LedgerEvent]]:
        yield 1, replace(an_event("decided", 1), said="no")
        yield 2, an_event("decided", 2)

    text = "\n".join([line async for line in FORMATS[name](events(), "origin")])
    assert text.count("said_no") == 1
    if name != "csv":
        assert text.count("outcome") == 2


HOSTILE = "=1+1 \x1b[2J\x9b2J \u202eevil \U000e0041 é"


@pytest.mark.shows("D7")
@pytest.mark.parametrize("name", FORMATS)
async def test_a_servers_text_does_nothing_to_the_terminal_that_shows_it(name: str) -> None:
    about = replace(ABOUT, server=replace(NOTES, claims=HOSTILE))

    async def events() -> AsyncIterator[tuple[int, LedgerEvent]]:
        yield 1, an_event("asked", 1, about=about)

    lines = [line async for line in FORMATS[name](events(), "origin")]
    assert all(line.isprintable() for line in lines)
    assert any("é" in line for line in lines)
    if name == "jsonl":
        assert json.loads(lines[0])["about"]["server"]["claims"] == HOSTILE
    if name == "csv":
        assert ",'=1+1 ⟨U+001B⟩[2J" in lines[1]
