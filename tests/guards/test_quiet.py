"""After a no there is a pause: for that person and that tool, for so long, and no longer."""

from __future__ import annotations

import re

import pytest

from handraise.errors import GuardRefused
from handraise.guards.quiet import Quiet

pytestmark = pytest.mark.shows("U1")


class Clock:
    """A time that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def is_quiet(quiet: Quiet, person: str = "ada", tool: str = "remove") -> bool:
    try:
        quiet.require_over(person, tool)
    except GuardRefused:
        return True
    return False


def test_who_declined_is_left_alone_until_the_time_is_over() -> None:
    clock = Clock()
    quiet = Quiet(60, clock)
    assert not is_quiet(quiet)
    quiet.begin("ada", "remove")
    for passed, expected in ((0, True), (59.9, True), (60, False), (61, False)):
        clock.now = 100.0 + passed
        assert is_quiet(quiet) is expected, passed


def test_others_and_other_tools_are_asked_meanwhile() -> None:
    quiet = Quiet(60, Clock())
    quiet.begin("ada", "remove")
    assert not is_quiet(quiet, "grace", "remove")
    assert not is_quiet(quiet, "ada", "send")


def test_nobody_who_never_declined_is_left_alone_even_before_the_clock_began() -> None:
    clock = Clock()
    clock.now = 0.0
    assert not is_quiet(Quiet(60, clock))


def test_the_refusal_says_for_how_long_and_what_to_do() -> None:
    clock = Clock()
    quiet = Quiet(60, clock)
    quiet.begin("ada", "remove")
    clock.now += 0.5
    told = (
        "The person declined remove a moment ago and is not asked again for 60 seconds. Nothing was done. "
        "Talk to them first."
    )
    with pytest.raises(GuardRefused, match=f"^{re.escape(told)}$") as caught:
        quiet.require_over("ada", "remove")
    assert caught.value.category == "cooling_down"


@pytest.mark.parametrize(("seconds", "rests"), [(0, False), (-1, False), (0.5, True)])
def test_without_a_pause_nothing_is_remembered(seconds: float, rests: bool) -> None:
    clock = Clock()
    quiet = Quiet(seconds, clock)
    quiet.begin("ada", "remove")
    assert is_quiet(quiet) is rests
    clock.now -= 10  # what was remembered would show now
    assert is_quiet(quiet) is rests


def test_of_very_many_the_oldest_are_forgotten_and_who_declined_again_is_not_among_them() -> None:
    quiet = Quiet(60, Clock())
    for at in range(10_000):
        quiet.begin(f"p{at}", "remove")
    assert is_quiet(quiet, "p0")
    quiet.begin("p0", "remove")
    quiet.begin("one more", "remove")
    assert [is_quiet(quiet, name) for name in ("p0", "p1", "p2", "one more")] == [True, False, True, True]
