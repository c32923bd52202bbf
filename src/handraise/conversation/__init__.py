"""Pause and resume: park, replay, once, single use. Knows no SDK and no transport."""

from handraise.conversation.body import Body
from handraise.conversation.conversation import Conversation
from handraise.conversation.lot import Lot, SettledError
from handraise.conversation.records import Binding, Consumption, Entry, Flow, Outcome, RoundRecord
from handraise.conversation.retry import Retry
from handraise.conversation.rounds import TOKEN_PREFIX, Terms
from handraise.conversation.store import Store

__all__ = [
    "TOKEN_PREFIX",
    "Binding",
    "Body",
    "Consumption",
    "Conversation",
    "Entry",
    "Flow",
    "Lot",
    "Outcome",
    "Retry",
    "RoundRecord",
    "SettledError",
    "Store",
    "Terms",
]
