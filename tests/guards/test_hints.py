"""What a tool says about itself is a claim: only plain words of its own count, and silence counts as the worst."""

from __future__ import annotations

from typing import Any

import pytest

from handraise.guards.hints import matches
from handraise.policy.config import parse_settings

pytestmark = pytest.mark.shows("U3b")


@pytest.mark.parametrize("said", [None, {}, {"destructiveHint": True}, {"title": "harmless"}])
@pytest.mark.parametrize(
    "doubtful", [{}, {"readOnlyHint": "true"}, {"readOnlyHint": 1}, {"readOnlyHint": None}]
)
def test_what_is_not_said_plainly_counts_as_destructive(said: Any, doubtful: Any) -> None:
    assert matches("destructive", {**(said or {}), **doubtful} if doubtful else said)


@pytest.mark.parametrize("value", ["false", 0, None, "", []])
def test_only_a_plain_false_says_that_nothing_is_destroyed(value: Any) -> None:
    assert matches("destructive", {"destructiveHint": value})
    assert not matches("destructive", {"destructiveHint": False})


def test_a_rule_without_a_hint_asks_about_all_that_may_destroy() -> None:
    assert parse_settings('[guards.mine]\ntools = ["delete_*"]').guards["mine"].hint == "destructive"
