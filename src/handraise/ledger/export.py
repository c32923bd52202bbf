"""The ledger in the formats of other programs: JSON Lines, CSV, CloudEvents, OpenTelemetry."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, Protocol

from handraise.display import inert
from handraise.ledger.events import LedgerEvent, dump_event


async def dump_jsonl(events: AsyncIterable[tuple[int, LedgerEvent]], origin: str) -> AsyncIterator[str]:
    """One JSON object a line: the event as it is in the ledger, with its number and its outcome."""
    async for number, event in events:
        yield json_line(number, event)


async def dump_cloudevents(events: AsyncIterable[tuple[int, LedgerEvent]], origin: str) -> AsyncIterator[str]:
    """One CloudEvent a line; its type names the kind, its subject the question, its data the whole event."""
    async for number, event in events:
        cloud_event = {
            "specversion": "1.0",
            "id": event.id,
            "source": f"urn:handraise:ledger:{origin}",
            "type": f"handraise.question.{event.kind}",
            "subject": event.question,
            "time": time_of(event),
            "datacontenttype": "application/json",
            "sequence": f"{number:016d}",
            "data": _said(event),
        }
        yield _dumped(cloud_event)


def json_line(number: int, event: LedgerEvent) -> str:
    """One event as a JSON object."""
    return _dumped({"number": number, **_said(event)})


def _dumped(value: object) -> str:
    """JSON on one line, for people to read too. A server's text in it does nothing to a terminal."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if text.isascii() and text.isprintable():
        return text
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


def _said(event: LedgerEvent) -> dict[str, Any]:
    """The event as it is in the ledger, and its outcome: that the person said no follows from the event's members."""
    said: dict[str, Any] = json.loads(dump_event(event))
    return said if event.outcome is None else {**said, "outcome": event.outcome}


def time_of(event: LedgerEvent) -> str:
    """When it happened (RFC 3339)."""
    return (
        datetime.fromtimestamp(event.time / 1000, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )


_COLUMNS: Final[Mapping[str, Callable[[LedgerEvent], object]]] = MappingProxyType(
    {
        "time": time_of,
        "kind": lambda e: e.kind,
        "question": lambda e: e.question,
        "id": lambda e: e.id,
        "server": lambda e: e.about.server.id,
        "server_target": lambda e: e.about.server.target,
        "server_claims": lambda e: e.about.server.claims,
        "client": lambda e: (
            e.about.client and f"{e.about.client.name} {e.about.client.version or ''}".strip()
        ),
        "revision": lambda e: e.about.revision,
        "gateway": lambda e: e.about.gateway,
        "person": lambda e: e.about.principal and e.about.principal.key,
        "mode": lambda e: e.about.mode,
        "method": lambda e: e.about.request and e.about.request.method,
        "tool": lambda e: e.about.request and e.about.request.target,
        "arguments": lambda e: e.about.request and e.about.request.arguments,
        "message_hash": lambda e: e.message and e.message.hash,
        "fields": lambda e: " ".join(f"{field.name}:{field.type}" for field in e.fields),
        "secrets": lambda e: " ".join(field.secret for field in e.fields if field.secret) or e.secret,
        "schema": lambda e: e.schema,
        "domain": lambda e: e.link and e.link.domain,
        "host": lambda e: e.link and e.link.host,
        "link_verdict": lambda e: e.link and e.link.verdict,
        "link_reasons": lambda e: e.link and " ".join(e.link.reasons),
        "action": lambda e: e.action,
        "outcome": lambda e: e.outcome,
        "decided_by": lambda e: e.decided_by,
        "how": lambda e: e.how,
        "answer_hash": lambda e: e.answer and e.answer.hash,
        "edited": lambda e: " ".join(e.edited),
        "latency_ms": lambda e: e.latency,
        "used_by": lambda e: e.used and f"{e.used.request.method} {e.used.request.target or ''}".strip(),
        "ended": lambda e: e.used and e.used.ended,
        "reasons": lambda e: "; ".join(e.reasons),
        "count": lambda e: e.count,
        "policy": lambda e: e.about.policy,
        "trace": lambda e: e.about.trace,
    }
)


async def dump_csv(events: AsyncIterable[tuple[int, LedgerEvent]], origin: str) -> AsyncIterator[str]:
    """A table with one row an event and a line of headings (RFC 4180)."""
    yield _line(["number", *_COLUMNS])
    async for number, event in events:
        yield _line([number, *(_cell(column(event)) for column in _COLUMNS.values())])


def _cell(value: object) -> object:
    """A server's text must not become a formula in a spreadsheet that opens this file, nor move a terminal's cursor."""
    if not isinstance(value, str):
        return value
    shown = inert(value, limit=len(value) * _LONGEST_NUMBER)
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@", "\t", "\r") else shown


_LONGEST_NUMBER: Final = 12
"""Characters that one invisible character takes when it is written out."""


def _line(cells: Iterable[object]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(cells)
    return out.getvalue()


_BATCH: Final = 100
_INFO, _WARN = (9, "INFO"), (13, "WARN")
_SEVERITY: Final = {"refused": _WARN, "failed": _WARN, "ambiguous": _WARN, "expired": _WARN}
_TRACE: Final = re.compile(r"[0-9a-f]{32}")


async def dump_logs(events: AsyncIterable[tuple[int, LedgerEvent]], origin: str) -> AsyncIterator[str]:
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
    return _dumped(logs)


def _record(number: int, event: LedgerEvent) -> dict[str, Any]:
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
            *(_attribute(f"handraise.{name}", value) for name, value in _flat("", _said(event))),
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


class Exporter(Protocol):
    """Writes events, with their numbers, as lines of text, as they come; `origin` is the name of the ledger."""

    def __call__(self, events: AsyncIterable[tuple[int, LedgerEvent]], origin: str) -> AsyncIterator[str]: ...


FORMATS: Final[Mapping[str, Exporter]] = MappingProxyType(
    {"jsonl": dump_jsonl, "csv": dump_csv, "cloudevents": dump_cloudevents, "otel": dump_logs}
)


__all__ = ["FORMATS", "Exporter", "json_line"]
