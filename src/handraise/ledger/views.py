"""What others see of the ledger: filters, the earlier decisions at a desk, and the formats of other programs.

The formats are JSON Lines, CSV, CloudEvents and OpenTelemetry.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from handraise.desks.endings import Earlier, Past
from handraise.display import inert
from handraise.ledger.events import LedgerEvent, Principal, dump_event
from handraise.questions import Person
from handraise.this_user import person_name

if TYPE_CHECKING:
    from handraise.ledger.events import LedgerEvent, Outcome
    from handraise.ledger.ledger import Ledger

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Conditions for events. An empty filter matches all."""

    server: str | None = None
    person: str | None = None
    """A subject, a login name, or the whole key of a person."""
    tool: str | None = None
    action: str | None = None
    """An outcome: `accept` leaves out what was answered with no, `said_no` is only that."""
    kind: str | None = None
    since: int | None = None
    until: int | None = None
    """Milliseconds since 1970; `until` itself is outside."""

    def matches(self, event: LedgerEvent) -> bool:
        """Whether an event matches."""
        about, principal, request = event.about, event.about.principal, event.about.request
        return (
            (self.server is None or about.server.id == self.server)
            and (self.person is None or (principal is not None and is_person(principal, self.person)))
            and (self.tool is None or (request is not None and request.target == self.tool))
            and (self.action is None or event.outcome == self.action)
            and (self.kind is None or event.kind == self.kind)
            and (self.since is None or event.time >= self.since)
            and (self.until is None or event.time < self.until)
        )


def is_person(principal: Principal, named: str) -> bool:
    """Whether a text names the person: by their key, subject or login name."""
    name = person_name(principal.how, principal.issuer, principal.subject)
    return named in (principal.key, principal.subject, name)


def parse_when(text: str, now: datetime) -> int:
    """A date, a date and time, or how long ago ("90d", "2h"): milliseconds since 1970. ValueError for anything else.

    Without a zone it is the zone of `now`.
    """
    if ago := parse_span(text):
        return int((now - ago).timestamp() * 1000)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=now.tzinfo or UTC)
    return int(moment.timestamp() * 1000)


def parse_span(text: str) -> timedelta | None:
    """A length of time: a number and s, m, h, d or w; None for anything else."""
    found = re.fullmatch(r"([0-9]{1,6})([smhdw])", text.strip())
    return None if found is None else timedelta(**{_UNITS[found[2]]: int(found[1])})


_MOST: Final = 50
_LOOKED_AT: Final = 2000
"""The most events to read for one page."""
_VERBS: Final[dict[Outcome, str]] = {
    "accept": "accepted it",
    "said_no": "said no",
    "decline": "declined it",
    "cancel": "cancelled it",
}
_BY: Final = {
    "human": "A person {}",
    "policy": "One of your rules {}",
    "agent": "The program {}",
    "client": "The client by itself {}",
    "timeout": "Nobody answered in time",
}


def desk_history(ledger: Ledger) -> Earlier:
    """Read a desk's history from this ledger: `WebDesk(queue, earlier=desk_history(ledger))`."""

    async def decided(person: Person | None, before: float) -> list[Past]:
        found: list[Past] = []
        looked_at = 0
        async for _, event in ledger.newest():
            looked_at += 1
            if event.kind == "decided" and event.time < before * 1000 and _is_of(event, person):
                found.append(_past(event))
            if len(found) == _MOST or looked_at == _LOOKED_AT:
                break
        return found

    return decided


def _is_of(event: LedgerEvent, person: Person | None) -> bool:
    principal = event.about.principal
    return person is None or (principal is not None and principal.key == person.key)


def _past(event: LedgerEvent) -> Past:
    assert event.outcome is not None  # the ledger takes no decision without them
    assert event.decided_by is not None
    request = event.about.request
    return Past(
        event.about.server.id,
        None if request is None else request.target,
        _BY[event.decided_by].format(_VERBS[event.outcome])
        + (" with a passkey" if event.how == "passkey" else ""),
        event.time / 1000,
    )


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


def json_line(number: int, event: LedgerEvent, contents: Mapping[str, str] = MappingProxyType({})) -> str:
    """One event as a JSON object, with the contents that were kept of it."""
    kept = {name: json.loads(text) if name == "answer" else text for name, text in contents.items()}
    return _dumped({"number": number, **_said(event)} | ({"contents": kept} if kept else {}))


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
