"""The life of a conversation, as a table.

A conversation works, asks, works again, and is over. Whatever is not in the table cannot happen.
"""

from __future__ import annotations

from typing import Literal

State = Literal["working", "asking", "over"]
"""Where a conversation stands.

- working: the body runs, and a request waits for it
- asking: the round went out, and the body is suspended at its question
- over: the body has ended
"""

Event = Literal["ask", "answer", "give up", "end"]
"""What can happen to a conversation. It gives up when the last open question of a round ends without an
answer: its time is over, or it was withdrawn."""

TRANSITIONS: dict[tuple[State, Event], State] = {
    ("working", "ask"): "asking",
    ("working", "end"): "over",
    ("asking", "answer"): "working",
    ("asking", "give up"): "working",
    ("asking", "end"): "over",
}
"""Where an event leads from a state; KeyError when it cannot happen."""
