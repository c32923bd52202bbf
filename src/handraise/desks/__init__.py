"""Where a person answers: one queue, one presentation, one way to fill in a form, and the desks around them."""

from handraise.desks.fill import Entries, Filled, edited, fill, suggest
from handraise.desks.present import Presentation, ShownField, ShownOption, present
from handraise.desks.queue import ARMED_AFTER, Desk, Queue
from handraise.desks.waiting import Cause, Content, Decision, DeskAnswer, Waiting

__all__ = [
    "ARMED_AFTER",
    "Cause",
    "Content",
    "Decision",
    "Desk",
    "DeskAnswer",
    "Entries",
    "Filled",
    "Presentation",
    "Queue",
    "ShownField",
    "ShownOption",
    "Waiting",
    "edited",
    "fill",
    "present",
    "suggest",
]
