"""The record of every question: what was shown, what was decided, and which call used it."""

from handraise.ledger.events import (
    KINDS,
    About,
    Client,
    Content,
    Event,
    Field,
    Kind,
    Link,
    Principal,
    Request,
    Server,
    Use,
    dump_event,
    parse_event,
)
from handraise.ledger.ledger import Ledger

__all__ = [
    "KINDS",
    "About",
    "Client",
    "Content",
    "Event",
    "Field",
    "Kind",
    "Ledger",
    "Link",
    "Principal",
    "Request",
    "Server",
    "Use",
    "dump_event",
    "parse_event",
]
