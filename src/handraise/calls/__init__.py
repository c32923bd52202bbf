"""Suspended calls: park, replay, once, single use. This package knows no SDK and no transport."""

from handraise.calls.call import Call
from handraise.calls.records import (
    CallBinding,
    ConsumeResult,
    Flow,
    JournalEntry,
    RoundOutcome,
    RoundRecord,
    RoundUse,
)
from handraise.calls.registry import Calls, SettledError
from handraise.calls.rounds import TOKEN_PREFIX, CallLimits, Handler, Retry
from handraise.calls.store import Store

__all__ = [
    "TOKEN_PREFIX",
    "Call",
    "CallBinding",
    "CallLimits",
    "Calls",
    "ConsumeResult",
    "Flow",
    "Handler",
    "JournalEntry",
    "Retry",
    "RoundOutcome",
    "RoundRecord",
    "RoundUse",
    "SettledError",
    "Store",
]
