"""Which formats there are."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from types import MappingProxyType
from typing import Final, Protocol

from handraise.ledger.events import Event
from handraise.ledger.export.opentelemetry import dump_logs
from handraise.ledger.export.tables import dump_cloudevents, dump_csv, dump_jsonl


class Exporter(Protocol):
    """Writes events, with their numbers, as lines of text, as they come; `origin` is the name of the ledger."""

    def __call__(self, events: AsyncIterable[tuple[int, Event]], origin: str) -> AsyncIterator[str]: ...


FORMATS: Final[Mapping[str, Exporter]] = MappingProxyType(
    {"jsonl": dump_jsonl, "csv": dump_csv, "cloudevents": dump_cloudevents, "otel": dump_logs}
)
