"""How `handraise pending` shows a question."""

from __future__ import annotations

import time

import pytest
from tests.desks.questions import form_question, link_question

from handraise.cli.pending import lines_of
from handraise.desks.describe import describe
from handraise.forms import Choice, Choices, Form, Integer, Text
from handraise.questions import Origin


@pytest.mark.shows("D1", "D9")
def test_who_asks_comes_first_then_why_the_servers_words_and_the_fields() -> None:
    form = Form.by_hand(
        Text("day", format="date"),
        Integer("n", required=False),
        Choice("size", {"s": "Small", "l": "Large"}),
        Choices("extras", ["card", "wrap"]),
    )
    waiting = form_question("Which?", form, id="5f0c", deadline=time.time() + 150)
    assert lines_of(describe(waiting)) == [
        "5f0c  notes (python notes.py)",
        '  because of delete_note {"title": "Plans"}',
        "  | Which?",
        "  day: date",
        "  n: integer, optional",
        '  size: one of "s", "l"',
        '  extras: any of "card", "wrap"',
        "  waits for about 2 minutes more",
    ]


def test_a_link_is_shown_whole() -> None:
    lines = lines_of(describe(link_question("https://example.com/" + "a" * 300)))
    assert f"  link: https://example.com/{'a' * 300}" in lines


@pytest.mark.shows("D7")
def test_hostile_text_is_inert() -> None:
    evil = "\x1b[2J\x1b]0;owned\x07\u202e\u200b\nhandraise: all is well"
    waiting = form_question(
        evil, Form.by_hand(Choice("c", {evil: evil})), origin=Origin(evil, evil), cause=None, warnings=(evil,)
    )
    lines = lines_of(describe(waiting))
    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("handraise:") for line in lines)
