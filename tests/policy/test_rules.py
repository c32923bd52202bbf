"""Rules are put together like words; what nobody allows is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.asked import NOTES, SHOP, facts, form

from handraise.policy import ALLOW, Facts, Rule, Ruling, all_of, any_of, asked_by, not_, refuse, rule, warn

ASKED = facts()
SAYS = {
    "allow": Rule("yes", lambda _: ALLOW),
    "warn": Rule("hm", lambda _: warn("Hm.")),
    "refuse": Rule("no", lambda _: refuse("No.")),
}


def test_an_empty_rule_set_refuses() -> None:
    assert all_of()(ASKED).verdict == "refuse"
    assert any_of()(ASKED).verdict == "refuse"


@pytest.mark.parametrize(
    ("parts", "strictly", "leniently"),
    [
        ("allow", "allow", "allow"),
        ("allow warn", "warn", "allow"),
        ("allow refuse", "refuse", "allow"),
        ("warn refuse", "refuse", "warn"),
        ("refuse refuse", "refuse", "refuse"),
    ],
)
def test_all_of_is_as_strict_as_its_strictest_and_any_of_as_lenient_as_its_most_lenient(
    parts: str, strictly: str, leniently: str
) -> None:
    rules = [SAYS[part] for part in parts.split()]
    assert all_of(*rules)(ASKED).verdict == strictly
    assert any_of(*rules)(ASKED).verdict == leniently


def test_not_turns_a_refusal_into_leave_and_anything_else_into_a_refusal_with_its_reason() -> None:
    assert not_(SAYS["refuse"], "Only others.")(ASKED) == ALLOW
    for let_through in ("allow", "warn"):
        assert not_(SAYS[let_through], "Only others.")(ASKED).reasons == ("Only others.",)


def test_a_ruling_names_the_innermost_rule_that_decided() -> None:
    assert all_of(all_of(SAYS["refuse"], SAYS["warn"]), SAYS["allow"])(ASKED).rules == ("no",)


def test_a_rule_of_ones_own_is_a_function_over_facts() -> None:
    @rule("no_wishes")
    def no_wishes(asked: Facts) -> Ruling:
        return refuse("No wishes.") if "wish" in asked.question.message else ALLOW

    assert no_wishes(ASKED) == ALLOW
    assert no_wishes(facts(form(message="A wish?"))) == Ruling("refuse", ("No wishes.",), ("no_wishes",))


def test_a_server_is_known_by_its_configured_name_or_its_target_and_never_by_what_it_calls_itself() -> None:
    assert asked_by("notes")(facts()) == ALLOW
    assert asked_by("https://shop.example/mcp")(facts(origin=SHOP)) == ALLOW
    assert NOTES.claimed_name is not None
    assert asked_by(NOTES.claimed_name)(facts()).verdict == "refuse"


@given(
    st.recursive(
        st.sampled_from(list(SAYS.values())),
        lambda inner: st.lists(inner).map(lambda r: all_of(*r)),
        max_leaves=8,
    )
)
def test_all_of_never_allows_what_one_of_its_parts_refuses(some: Rule) -> None:
    assert all_of(some, SAYS["refuse"])(ASKED).verdict == "refuse"
