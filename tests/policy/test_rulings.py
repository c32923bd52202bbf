from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handraise.policy import ALLOW, Ruling, refuse, warn
from handraise.policy.rulings import mildest_of, worst_of

RULINGS = st.lists(
    st.builds(Ruling, st.sampled_from(["allow", "warn", "refuse"]), st.tuples(st.sampled_from("abc")))
)


def test_the_worst_verdict_counts_and_every_reason_is_told_the_worst_first() -> None:
    together = worst_of([warn("odd"), ALLOW, Ruling("refuse", ("bad",), ("no_bad",)), warn("odd")])
    assert together == Ruling("refuse", ("bad", "odd"), ("no_bad",))


def test_only_the_rules_that_decided_are_named() -> None:
    rulings = [
        Ruling("refuse", ("a",), ("one",)),
        Ruling("warn", ("b",), ("two",)),
        Ruling("refuse", ("c",), ("three",)),
    ]
    assert worst_of(rulings).rules == ("one", "three")


def test_a_mute_that_did_not_decide_silences_nothing() -> None:
    assert worst_of([refuse("muted", silent=True), warn("odd")]).silent
    assert not worst_of([refuse("loud"), warn("odd")]).silent


def test_nothing_at_all_is_a_refusal() -> None:
    assert worst_of([]).verdict == "refuse"
    assert mildest_of([]).verdict == "refuse"


@given(RULINGS)
def test_no_ruling_is_milder_than_the_mildest_or_worse_than_the_worst(rulings: list[Ruling]) -> None:
    for ruling in rulings:
        assert mildest_of(rulings).severity <= ruling.severity <= worst_of(rulings).severity


@given(RULINGS, RULINGS)
def test_one_more_opinion_never_makes_the_worst_milder(some: list[Ruling], more: list[Ruling]) -> None:
    if some:
        assert worst_of([*some, *more]).severity >= worst_of(some).severity
