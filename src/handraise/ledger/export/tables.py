"""Events as JSON Lines, as CloudEvents and as a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from handraise.ledger.events import Event, dump_event


async def dump_jsonl(events: AsyncIterable[tuple[int, Event]], origin: str) -> AsyncIterator[str]:
    """One JSON object a line: the event exactly as it is in the ledger, with its number."""
    async for number, event in events:
        yield json_line(number, event)


async def dump_cloudevents(events: AsyncIterable[tuple[int, Event]], origin: str) -> AsyncIterator[str]:
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
            "data": json.loads(dump_event(event)),
        }
        yield json.dumps(cloud_event, ensure_ascii=False, separators=(",", ":"))


def json_line(number: int, event: Event) -> str:
    """One event as a JSON object."""
    said = {"number": number, **json.loads(dump_event(event))}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def time_of(event: Event) -> str:
    """When it happened (RFC 3339)."""
    return (
        datetime.fromtimestamp(event.time / 1000, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )


_COLUMNS: Final[Mapping[str, Callable[[Event], object]]] = MappingProxyType(
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


async def dump_csv(events: AsyncIterable[tuple[int, Event]], origin: str) -> AsyncIterator[str]:
    """A table with one row an event and a line of headings (RFC 4180)."""
    yield _line(["number", *_COLUMNS])
    async for number, event in events:
        yield _line([number, *(_cell(column(event)) for column in _COLUMNS.values())])


def _cell(value: object) -> object:
    """A server's words must not become a formula in whoever's spreadsheet opens this."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value


def _line(cells: Iterable[object]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(cells)
    return out.getvalue()
