"""The life of a conversation, as a table.

A conversation works, asks, works again, and is over. Whatever is not in the table cannot happen.
"""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """Where a conversation stands."""

    WORKING = "working"
    """The body runs; a request waits for it."""
    ASKING = "asking"
    """The round went out; the body is suspended at its question."""
    OVER = "over"
    """The body has ended."""


class Event(Enum):
    """What can happen to a conversation."""

    ASK = "ask"
    ANSWER = "answer"
    GIVE_UP = "give_up"
    """The last open question of the round ended without an answer: its time is over, or it was withdrawn."""
    END = "end"


TRANSITIONS: dict[tuple[State, Event], State] = {
    (State.WORKING, Event.ASK): State.ASKING,
    (State.WORKING, Event.END): State.OVER,
    (State.ASKING, Event.ANSWER): State.WORKING,
    (State.ASKING, Event.GIVE_UP): State.WORKING,
    (State.ASKING, Event.END): State.OVER,
}


def step(state: State, event: Event) -> State:
    """Where `event` leads from `state`; KeyError when it cannot happen."""
    return TRANSITIONS[state, event]
