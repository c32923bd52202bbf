"""One timer for all questions."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from tests.waiting import until

from handraise.conversation.deadlines import Deadlines


async def test_deadlines_are_called_soonest_first_and_never_early() -> None:
    deadlines = Deadlines()
    called: list[tuple[float, float]] = []
    loop = asyncio.get_running_loop()
    start = loop.time()

    def call(seconds: float) -> None:
        called.append((seconds, loop.time() - start))

    for seconds in (0.09, 0.03, 0.06):
        deadlines.add(seconds, partial(call, seconds))
    await until(lambda: len(called) == 3)
    assert [seconds for seconds, _ in called] == [0.03, 0.06, 0.09]
    assert all(after >= seconds for seconds, after in called)
    assert len(deadlines) == 0


async def test_a_deadline_that_was_dropped_is_not_called() -> None:
    deadlines, called = Deadlines(), []
    dropped = deadlines.add(0.01, lambda: called.append("dropped"))
    deadlines.add(0.03, lambda: called.append("kept"))
    deadlines.drop(dropped)
    deadlines.drop(dropped)
    await until(lambda: bool(called))
    assert called == ["kept"]


async def test_dropping_a_deadline_that_was_called_changes_nothing() -> None:
    deadlines, called = Deadlines(), []
    over = deadlines.add(0.0, lambda: called.append("called"))
    await until(lambda: bool(called))
    deadlines.drop(over)
    assert deadlines._dropped == 0


async def test_dropped_deadlines_do_not_pile_up() -> None:
    deadlines = Deadlines()
    for _ in range(5_000):
        deadlines.drop(deadlines.add(300.0, lambda: None))
    assert len(deadlines) < 200
    deadlines.clear()


async def test_a_call_may_add_and_drop_others() -> None:
    deadlines: Deadlines = Deadlines()
    called: list[Any] = []
    later = deadlines.add(0.05, lambda: called.append("later"))

    def first() -> None:
        called.append("first")
        deadlines.drop(later)
        deadlines.add(0.0, lambda: called.append("added"))

    deadlines.add(0.0, first)
    await until(lambda: len(called) == 2)
    await asyncio.sleep(0.12)
    assert called == ["first", "added"]


async def test_after_clearing_nothing_is_called_and_new_ones_are() -> None:
    deadlines, called = Deadlines(), []
    deadlines.add(0.01, lambda: called.append("old"))
    deadlines.clear()
    deadlines.add(0.02, lambda: called.append("new"))
    await until(lambda: bool(called))
    assert called == ["new"]
