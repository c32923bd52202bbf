"""Rules are put together like words; what nobody allows is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.asked import NOTES, SHOP, facts, form

from handraise.policy import (
    ALLOW,
    Facts,
    PolicyRule,
    PolicyRuling,
    all_of,
    any_of,
    asked_by,
    not_,
    refuse,
    rule,
    warn,
)
from handraise.policy.rules import mildest_of, worst_of

ASKED = facts()
SAYS = {
    "allow": PolicyRule("yes", lambda _: ALLOW),
    "warn": PolicyRule("hm", lambda _: warn("Hm.")),
    "refuse": PolicyRule("no", lambda _: refuse("No.")),
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
    def no_wishes(asked: Facts) -> PolicyRuling:
        return refuse("No wishes.") if "wish" in asked.question.message else ALLOW

    assert no_wishes(ASKED) == ALLOW
    assert no_wishes(facts(form(message="A wish?"))) == PolicyRuling(
        "refuse", ("No wishes.",), ("no_wishes",)
    )


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
def test_all_of_never_allows_what_one_of_its_parts_refuses(some: PolicyRule) -> None:
    assert all_of(some, SAYS["refuse"])(ASKED).verdict == "refuse"


RULINGS = st.lists(
    st.builds(PolicyRuling, st.sampled_from(["allow", "warn", "refuse"]), st.tuples(st.sampled_from("abc"))),
    max_size=4,
)


def test_the_worst_verdict_counts_and_every_reason_is_told_the_worst_first() -> None:
    together = worst_of([warn("odd"), ALLOW, PolicyRuling("refuse", ("bad",), ("no_bad",)), warn("odd")])
    assert together == PolicyRuling("refuse", ("bad", "odd"), ("no_bad",))


def test_only_the_rules_that_decided_are_named() -> None:
    rulings = [
        PolicyRuling("refuse", ("a",), ("one",)),
        PolicyRuling("warn", ("b",), ("two",)),
        PolicyRuling("refuse", ("c",), ("three",)),
    ]
    assert worst_of(rulings).rules == ("one", "three")


def test_a_mute_that_did_not_decide_silences_nothing() -> None:
    assert worst_of([refuse("muted", silent=True), warn("odd")]).silent
    assert not worst_of([refuse("loud"), warn("odd")]).silent


def test_nothing_at_all_is_a_refusal() -> None:
    assert worst_of([]).verdict == "refuse"
    assert mildest_of([]).verdict == "refuse"


@given(RULINGS)
def test_no_ruling_is_milder_than_the_mildest_or_worse_than_the_worst(rulings: list[PolicyRuling]) -> None:
    for ruling in rulings:
        assert mildest_of(rulings).severity <= ruling.severity <= worst_of(rulings).severity


@given(RULINGS, RULINGS)
def test_one_more_opinion_never_makes_the_worst_milder(
    some: list[PolicyRuling], more: list[PolicyRuling]
) -> None:
    if some:
        assert worst_of([*some, *more]).severity >= worst_of(some).severity
