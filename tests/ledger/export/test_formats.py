"""The ledger for other programs: every format is written as the events come."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from tests.ledger.examples import an_event

from handraise.ledger import KINDS, Event
from handraise.ledger.export import FORMATS

pytestmark = pytest.mark.shows("G6")
MANY = 250


class Source:
    """Events, and how many of them were taken."""

    def __init__(self) -> None:
        self.taken = 0

    async def events(self) -> AsyncIterator[tuple[int, Event]]:
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
