"""Events as CloudEvents 1.0, in JSON, one a line."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator

from handraise.ledger.events import Event, dump_event
from handraise.ledger.export.tables import time_of


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
