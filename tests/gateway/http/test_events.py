"""Events of a stream, however its chunks are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.gateway.http.events import Event, Events
from handraise.gateway.http.exchange import dump_event

pytestmark = pytest.mark.shows("W1")

STREAM = (
    b": hello\r\n\r\nevent: message\r\nid: 1\r\ndata: {\r\ndata: }\r\n\r\nretry: 500\n\nid: 2\n\n"
    + dump_event(b'{"a":1}')
    + b"data: not yet"
)
EVENTS = [Event(b"{\n}", "1"), Event(b"", "2", 0.5), Event(b'{"a":1}')]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_events_are_the_same_however_they_are_cut(cuts: list[int]) -> None:
    events, seen = Events(), []
    places = [0, *sorted(cuts), len(STREAM)]
    for start, end in pairwise(places):
        seen += events.feed(STREAM[start:end])
    assert seen == EVENTS


@pytest.mark.parametrize(
    ("retry", "seconds"), [(b"500", 0.5), (b"9" * 20, 60), (b"9" * 5_000, 60)], ids=["half", "long", "huge"]
)
def test_a_server_cannot_delay_us_for_long(retry: bytes, seconds: float) -> None:
    assert Events().feed(b"retry: " + retry + b"\ndata: x\n\n") == [Event(b"x", None, seconds)]
