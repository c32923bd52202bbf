"""A person's own rules: made, listed, replaced and taken back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.asked import NOTES

from handraise.errors import SetupError
from handraise.policy import OwnRule, Rulebook
from handraise.policy.files import OwnRules
from handraise.policy.rules import dump_book, parse_book

BLOCK = OwnRule("notes", "block", made=1.0)
ALLOW = OwnRule("notes", "allow", made=2.0)
TIMES = st.floats(0, 1e10, allow_nan=False)
RULES = st.builds(
    OwnRule,
    st.sampled_from(["notes", "shop", "python notes.py"]),
    st.sampled_from(["allow", "mute", "block"]),
    TIMES,
    st.none() | TIMES,
    st.sampled_from(["", "ada", "bob"]),
)
BOOKS = st.lists(RULES, max_size=12).map(lambda rules: _book(*rules))


def _book(*rules: OwnRule) -> Rulebook:
    book = Rulebook()
    for rule in rules:
        book = book.add(rule)
    return book


@pytest.mark.shows("D5")
def test_the_latest_rule_about_a_server_counts() -> None:
    assert _book(BLOCK, ALLOW).find(NOTES, "ada", now=3.0) == ALLOW
    assert _book(BLOCK, ALLOW).standing(now=3.0) == (ALLOW,)


@pytest.mark.shows("D5")
def test_taking_a_rule_back_restores_what_held_before() -> None:
    rest, undone = _book(BLOCK, ALLOW).undo()
    assert undone == ALLOW
    assert rest.find(NOTES, "ada", now=3.0) == BLOCK
    assert rest.undo()[0].undo() == (Rulebook(), None)


def test_the_latest_rule_about_one_server_can_be_taken_back() -> None:
    book = _book(BLOCK, OwnRule("shop", "mute", made=2.0))
    rest, undone = book.undo("notes")
    assert (undone, [each.server for each in rest.entries]) == (BLOCK, ["shop"])
    assert book.undo("nobody") == (book, None)


def test_saying_the_same_twice_is_saying_it_once() -> None:
    book = _book(BLOCK, BLOCK, BLOCK)
    assert book.undo()[0].find(NOTES, "ada", now=3.0) is None


def test_a_rule_that_was_made_after_the_clock_was_set_back_still_is_the_latest() -> None:
    book = _book(OwnRule("notes", "allow", made=1000.0), OwnRule("notes", "block", made=5.0))
    rule = book.find(NOTES, "ada", now=6.0)
    assert rule is not None
    assert (rule.asking, rule.made) == ("block", 1000.0)


def test_rules_that_ran_out_are_forgotten_and_too_many_are_refused_rather_than_dropped() -> None:
    book = _book(OwnRule("old", "block", made=1.0, until=2.0), BLOCK, OwnRule("new", "block", made=3.0))
    assert [each.server for each in book.entries] == ["notes", "new"]
    full = Rulebook(tuple(OwnRule(f"server {number}", "block") for number in range(500)))
    with pytest.raises(SetupError, match="500 rules"):
        full.add(BLOCK)
    assert len(full.add(OwnRule("server 3", "allow")).entries) == 500


@given(BOOKS)
def test_a_book_survives_the_file(book: Rulebook) -> None:
    assert parse_book(json.loads(json.dumps(dump_book(book)))) == book


@given(BOOKS, RULES)
def test_after_a_rule_was_made_it_counts_for_its_server(book: Rulebook, rule: OwnRule) -> None:
    grown = book.add(rule)
    made = grown.entries[-1]
    if made.holds(made.made):
        assert made in grown.standing(made.made)


@pytest.mark.parametrize(
    "damage",
    [
        [],
        {},
        {"version": 2, "rules": []},
        {"version": 1, "rules": {}},
        {"version": 1, "rules": ["block notes"]},
        {"version": 1, "rules": [{"server": "notes", "asking": "block"}]},
        {"version": 1, "rules": [{"server": 1, "asking": "block", "made": 0, "until": None, "person": ""}]},
        {"version": 1, "rules": [{"server": "a", "asking": "obey", "made": 0, "until": None, "person": ""}]},
        {"version": 1, "rules": [{"server": "a", "asking": [], "made": 0, "until": None, "person": ""}]},
        {
            "version": 1,
            "rules": [{"server": "a", "asking": "block", "made": True, "until": None, "person": ""}],
        },
    ],
)
def test_a_damaged_book_is_refused_because_lost_rules_would_unblock_servers(damage: Any) -> None:
    with pytest.raises(SetupError):
        parse_book(damage)


def test_a_certain_rule_can_be_taken_back_whatever_came_later() -> None:
    rest, undone = _book(BLOCK, ALLOW).undo(BLOCK)
    assert (undone, rest.entries) == (BLOCK, (ALLOW,))


def test_rules_in_memory_are_taken_back_too() -> None:
    rules = OwnRules()
    rules.add(BLOCK, keep=True)
    assert not rules.keeps(BLOCK)
    assert rules.undo() == BLOCK
    assert rules.undo() is None
