"""The record of every question: the text shown, the decision, and the call that used it."""

from handraise.ledger.events import (
    KINDS,
    AnswerUse,
    ClientRecord,
    Content,
    EventContext,
    EventKind,
    FieldRecord,
    LedgerEvent,
    LinkRecord,
    Principal,
    RequestRecord,
    ServerRecord,
    dump_event,
    parse_event,
)
from handraise.ledger.ledger import Ledger

__all__ = [
    "KINDS",
    "AnswerUse",
    "ClientRecord",
    "Content",
    "EventContext",
    "EventKind",
    "FieldRecord",
    "Ledger",
    "LedgerEvent",
    "LinkRecord",
    "Principal",
    "RequestRecord",
    "ServerRecord",
    "dump_event",
    "parse_event",
]
