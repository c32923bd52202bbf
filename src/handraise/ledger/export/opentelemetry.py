"""Events as OpenTelemetry log records, in the JSON form of OTLP, one batch a line."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from typing import Any, Final

from handraise.ledger.events import Event, dump_event

_BATCH: Final = 100
_INFO, _WARN = (9, "INFO"), (13, "WARN")
_SEVERITY: Final = {"refused": _WARN, "failed": _WARN, "ambiguous": _WARN, "expired": _WARN}
_TRACE: Final = re.compile(r"[0-9a-f]{32}")


async def dump_logs(events: AsyncIterable[tuple[int, Event]], origin: str) -> AsyncIterator[str]:
    """One `LogsData` a line, each with up to a hundred log records."""
    batch: list[dict[str, Any]] = []
    async for number, event in events:
        batch.append(_record(number, event))
        if len(batch) == _BATCH:
            yield _logs(batch, origin)
            batch = []
    if batch:
        yield _logs(batch, origin)


def _logs(records: list[dict[str, Any]], origin: str) -> str:
    resource = [_attribute("service.name", "handraise"), _attribute("handraise.ledger", origin)]
    scope = {"scope": {"name": "handraise.ledger"}, "logRecords": records}
    logs = {"resourceLogs": [{"resource": {"attributes": resource}, "scopeLogs": [scope]}]}
    return json.dumps(logs, ensure_ascii=False, separators=(",", ":"))


def _record(number: int, event: Event) -> dict[str, Any]:
    severity, named = _SEVERITY.get(event.kind, _INFO)
    nanoseconds = str(event.time * 1_000_000)
    record: dict[str, Any] = {
        "timeUnixNano": nanoseconds,
        "observedTimeUnixNano": nanoseconds,
        "severityNumber": severity,
        "severityText": named,
        "eventName": f"handraise.question.{event.kind}",
        "body": {"stringValue": f"question {event.kind}"},
        "attributes": [
            _attribute("handraise.number", number),
            *(
                _attribute(f"handraise.{name}", value)
                for name, value in _flat("", json.loads(dump_event(event)))
            ),
        ],
    }
    if event.about.trace is not None and _TRACE.fullmatch(event.about.trace):
        record["traceId"] = event.about.trace
    return record


def _flat(at: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The members of an event under dotted names; lists of values stay lists."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _flat(f"{at}.{name}" if at else name, part)
    elif isinstance(value, list) and any(isinstance(part, dict) for part in value):
        for index, part in enumerate(value):
            yield from _flat(f"{at}.{index}", part)
    else:
        yield at, value


def _attribute(name: str, value: Any) -> dict[str, Any]:
    return {"key": name, "value": _value(value)}


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(part) for part in value]}}
    return {"stringValue": value}
