"""Events: what each kind says, and that they come back as they were written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from tests.ledger.examples import EVENTS, MESSAGE, an_event

from handraise.errors import LedgerError
from handraise.ledger.events import (
    KINDS,
    EventKind,
    LedgerEvent,
    dump_event,
    parse_event,
)


@pytest.mark.shows("G1", "G2")
@pytest.mark.parametrize("kind", KINDS)
def test_an_event_of_every_kind_comes_back_as_it_was_written(kind: EventKind) -> None:
    assert parse_event(dump_event(an_event(kind))) == an_event(kind)


@pytest.mark.shows("G1")
def test_the_kinds_are_these_and_no_others() -> None:
    assert KINDS == (
        "asked", "shown", "decided", "opened", "completed", "used",
        "refused", "expired", "withdrawn", "failed", "ambiguous",
    )  # fmt: skip


@given(EVENTS)
def test_what_is_written_is_canonical_and_reads_back_the_same(event: LedgerEvent) -> None:
    written = dump_event(event)
    assert written == rfc8785.dumps(json.loads(written))
    assert parse_event(written) == event


@pytest.mark.parametrize(
    ("kind", "left_out"),
    [
        ("asked", "message"),
        ("decided", "action"),
        ("decided", "decided_by"),
        ("used", "used"),
        ("refused", "reasons"),
        ("failed", "reasons"),
    ],
)
def test_an_event_that_says_too_little_for_its_kind_is_not_written(kind: EventKind, left_out: str) -> None:
    empty: dict[str, Any] = {left_out: () if left_out == "reasons" else None}
    with pytest.raises(LedgerError, match=left_out):
        dump_event(replace(an_event(kind), **empty))


def _changed(**members: Any) -> bytes:
    return rfc8785.dumps({**json.loads(dump_event(an_event())), **members})


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "no event"),
        (b"\xff", "no event"),
        (b"[]", "no event"),
        (b"[" * 100_000, "no event"),
        (_changed(kind="guessed"), "kind"),
        (_changed(time="now"), "time"),
        (_changed(time=True), "canonical"),
        (_changed(message=None), "message"),
        (_changed(extra=1), "canonical"),
        (_changed(about={}), "server"),
        (_changed(fields=[]), "canonical"),
        (_changed(fields=[{"name": "a"}]), r"fields.0.type: Field required"),
        (_changed(kind="decided"), "action"),
        (dump_event(an_event()).replace(b'"id"', b'"id":"x","id"', 1), "canonical"),
        (dump_event(an_event()).replace(b",", b", ", 1), "canonical"),
        (_changed(latency=1).replace(b'"latency":1', b'"latency":1.0'), "canonical"),
    ],
)
def test_what_nobody_wrote_is_refused_and_the_error_says_where(data: bytes, told: str) -> None:
    with pytest.raises(LedgerError, match=told):
        parse_event(data)


def test_what_json_cannot_carry_exactly_is_not_written() -> None:
    for event in (replace(an_event(), time=2**53), replace(an_event(), question="\ud800")):
        with pytest.raises(LedgerError, match="cannot be written"):
            dump_event(event)


@pytest.mark.shows("G3")
def test_an_event_has_a_hash_of_what_was_said_and_not_a_word_of_it() -> None:
    assert json.loads(dump_event(an_event()))["message"] == {"ref": MESSAGE.ref, "hash": MESSAGE.hash}
