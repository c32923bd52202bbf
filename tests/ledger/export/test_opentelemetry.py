"""Log records, as the protocol's own messages read them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData
from tests.ledger.export.test_formats import MANY, Source

from handraise.ledger.export import FORMATS


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
