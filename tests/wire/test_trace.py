"""Which trace a request is part of."""

from __future__ import annotations

import pytest

from handraise.wire import parse_trace

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.shows("G2")
@pytest.mark.parametrize(
    "parent", [f"00-{TRACE}-00f067aa0ba902b7-01", f"01-{TRACE}-00f067aa0ba902b7-00-of a later version"]
)
def test_the_trace_id_is_read(parent: str) -> None:
    assert parse_trace({"traceparent": parent, "progressToken": 1}) == TRACE


@pytest.mark.parametrize(
    "meta",
    [
        None,
        [],
        {},
        {"traceparent": None},
        {"traceparent": TRACE},
        {"traceparent": f"ff-{TRACE}-00f067aa0ba902b7-01"},
        {"traceparent": f"00-{TRACE.upper()}-00f067aa0ba902b7-01"},
        {"traceparent": f"00-{'0' * 32}-00f067aa0ba902b7-01"},
        {"traceparent": f"00-{TRACE}-{'0' * 16}-01"},
        {"traceparent": f"00-{'my secret token is: hunter2 hello'[:32]}-00f067aa0ba902b7-01"},
    ],
)
def test_what_is_no_trace_id_is_none(meta: object) -> None:
    assert parse_trace(meta) is None
