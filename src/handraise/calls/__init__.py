"""Suspended calls: park, replay, once, single use. This package knows no SDK and no transport."""

from handraise.calls.call import Call
from handraise.calls.registry import Calls, SettledError
from handraise.calls.rounds import TOKEN_PREFIX, CallLimits
from handraise.calls.store import (
    CallBinding,
    ConsumeResult,
    Flow,
    JournalEntry,
    RoundOutcome,
    RoundRecord,
    RoundUse,
    Store,
)

__all__ = [
    "TOKEN_PREFIX",
    "Call",
    "CallBinding",
    "CallLimits",
    "Calls",
    "ConsumeResult",
    "Flow",
    "JournalEntry",
    "RoundOutcome",
    "RoundRecord",
    "RoundUse",
    "SettledError",
    "Store",
]
