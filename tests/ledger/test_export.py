"""The ledger for other programs: every format is written as the events come."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from cloudevents.core.formats.json import JSONFormat
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from tests.ledger.examples import ABOUT, NOTES, an_event

from handraise.ledger import KINDS, LedgerEvent, dump_event
from handraise.ledger.export import FORMATS

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
