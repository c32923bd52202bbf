"""The life of a conversation, cell by cell."""

from __future__ import annotations

import itertools
from typing import get_args

import pytest

from handraise.conversation.states import TRANSITIONS, Event, State

EVENTS: tuple[Event, ...] = ("ask", "answer", "give up", "end")
TABLE: dict[State, tuple[State | None, ...]] = {
    "working": ("asking", None, None, "over"),
    "asking": (None, "working", "working", "over"),
    "over": (None, None, None, None),
}
CELLS = [
    (state, event, after) for state, row in TABLE.items() for event, after in zip(EVENTS, row, strict=True)
]


@pytest.mark.parametrize(("state", "event", "after"), CELLS)
def test_each_event_leads_where_the_table_says(state: State, event: Event, after: State | None) -> None:
    if after is None:
        with pytest.raises(KeyError):
            TRANSITIONS[state, event]
    else:
        assert TRANSITIONS[state, event] == after


def test_the_table_has_a_cell_for_every_state_and_event() -> None:
    every = set(itertools.product(get_args(State), get_args(Event)))
    assert {(state, event) for state, event, _ in CELLS} == every
    assert set(TRANSITIONS) <= every


def test_what_is_over_stays_over() -> None:
    assert not [event for state, event in TRANSITIONS if state == "over"]


def test_every_state_can_be_reached_and_every_one_can_end() -> None:
    assert set(TRANSITIONS.values()) == set(get_args(State))
    assert {state for state, event in TRANSITIONS if event == "end"} == {"working", "asking"}
