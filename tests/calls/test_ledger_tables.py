"""What a store writes beside an event's contents: digests that show every change and reveal nothing."""

from __future__ import annotations

from itertools import combinations

from handraise.calls.ledger_tables import content_digest, dump_digests


def test_contents_that_differ_anywhere_have_different_digests() -> None:
    rows = [
        (b"", None),
        (b"", b""),
        (b"k", None),
        (b"k", b""),
        (b"k", b"x"),
        (b"kx", None),
        (b"k\x01x", None),
    ]
    for one, other in combinations(rows, 2):
        assert content_digest(*one) != content_digest(*other)
    assert content_digest(b"k", b"x") == content_digest(b"k", b"x")


def test_an_event_has_the_same_text_of_digests_in_whatever_order_they_came() -> None:
    assert dump_digests({}) == ""
    text = '{"c_1":"aa","c_2":"bb"}'
    assert dump_digests({"c_2": "bb", "c_1": "aa"}) == dump_digests({"c_1": "aa", "c_2": "bb"}) == text
