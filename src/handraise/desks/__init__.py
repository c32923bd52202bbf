"""Where a person answers: one queue, one sheet, one way to fill it in, and the desks around them."""

from handraise.desks.fill import Entries, Filled, edited, fill, suggest
from handraise.desks.queue import ARMED_AFTER, Queue
from handraise.desks.sheet import Sheet, SheetField, SheetOption, lay_out
from handraise.desks.waiting import Cause, Content, Decision, DeskAnswer, Waiting

__all__ = [
    "ARMED_AFTER",
    "Cause",
    "Content",
    "Decision",
    "DeskAnswer",
    "Entries",
    "Filled",
    "Queue",
    "Sheet",
    "SheetField",
    "SheetOption",
    "Waiting",
    "edited",
    "fill",
    "lay_out",
    "suggest",
]
