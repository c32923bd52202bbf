"""Several questions, other desks, and fingers that are faster than eyes."""

from __future__ import annotations

import asyncio
import time

import pytest
from tests.desks.questions import form_question
from tests.desks.terminal.sitting import Stopped, sitting

from handraise.desks import ARMED_AFTER, Decision, Queue
from handraise.desks.terminal.app import ClosingScreen
from handraise.forms import Form, Text
from handraise.questions import Accepted, Declined

EMPTY = Form.by_hand()
ONE = Form.by_hand(Text("name"))


@pytest.mark.shows("D4")
async def test_what_was_typed_ahead_neither_consents_nor_declines_nor_cancels() -> None:
    clock = Stopped()
    async with sitting(form_question(form=EMPTY), clock=clock) as here:
        await here.sees("This has just appeared. Keys count after half a second without typing.")
        await here.press("y", "f5", "enter", "f3", "escape", "tab", "enter")
        assert here.undecided()
        clock.now += ARMED_AFTER
        await here.press("y")
        assert (await here.decision()).answer == Accepted({})


@pytest.mark.shows("D4")
async def test_somebody_who_goes_on_typing_is_not_heard_until_they_pause() -> None:
    clock = Stopped()
    async with sitting(form_question(form=ONE), clock=clock) as here:
        for letter in "yes please":
            clock.now += ARMED_AFTER * 0.8
            await here.type(letter)
        assert "yes" not in here.screen()
        assert "e" not in here.queue.draft(here.app.shown[0].id).values()
        clock.now += ARMED_AFTER
        await here.type("no")
        await here.sees("no")


@pytest.mark.shows("D4")
async def test_the_next_question_is_disarmed_anew() -> None:
    clock = Stopped()
    async with sitting(form_question(form=EMPTY), form_question(form=EMPTY), clock=clock) as here:
        clock.now += ARMED_AFTER
        await here.press("y", "y", "y")
        assert (await here.decision(0)).answer == Accepted({})
        assert here.undecided(1)


@pytest.mark.shows("D6")
async def test_one_question_is_on_the_screen_at_a_time_the_oldest_first() -> None:
    async with sitting(form_question("Tea?", EMPTY), form_question("Cake?", EMPTY)) as here:
        await here.sees("Tea?")
        assert "Cake?" not in here.screen()
        await here.press("f3")
        await here.sees("Cake?")
        assert "Tea?" not in here.screen()


@pytest.mark.shows("D8")
async def test_how_many_wait_is_always_said() -> None:
    async with sitting(*(form_question(f"Number {n}?", EMPTY) for n in range(3))) as here:
        await here.sees("Number 0?", "2 more waiting")
        await here.press("f7")
        await here.sees("Number 1?", "2 more waiting")
        await here.press("f3")
        await here.sees("1 more waiting")
        assert (await here.decision(1)).answer == Declined()
        assert here.undecided(0)


@pytest.mark.shows("D8")
async def test_what_was_entered_is_kept_while_another_question_is_looked_at() -> None:
    async with sitting(form_question("First?", ONE), form_question("Second?", ONE)) as here:
        await here.type("Ada")
        await here.press("f7")
        await here.sees("Second?")
        await here.press("f7")
        screen = await here.sees("First?")
        assert "Ada" in screen


@pytest.mark.shows("D8")
async def test_an_answer_given_elsewhere_is_told_and_the_next_question_comes() -> None:
    first, second = form_question("First?", ONE), form_question("Second?", ONE)
    async with sitting(first, second) as here:
        await here.type("Ad")
        here.queue.decide(first.id, Decision(Declined(), desk="web"))
        screen = await here.sees(
            "Second?", "The question of notes is over. Declined. It ended in the browser."
        )
        assert "Ad" not in screen.replace("Asked", "")


@pytest.mark.shows("D8")
async def test_an_answer_given_elsewhere_closes_what_is_open_over_it_too() -> None:
    first = form_question("First?", ONE)
    async with sitting(first) as here:
        await here.type("Ada")
        await here.press("f4")
        here.queue.decide(first.id, Decision(Declined(), desk="web"))
        await here.sees("It ended in the browser.", "Nothing else waits for you.")
        assert isinstance(here.app.screen, ClosingScreen)


@pytest.mark.shows("O7")
async def test_a_question_whose_asker_went_away_leaves_the_screen_and_says_so() -> None:
    async with sitting(form_question("First?", ONE)) as here:
        here.asked[0].cancel()
        await here.sees("The question was withdrawn. There is nothing left to answer.")


@pytest.mark.shows("O2")
async def test_a_question_whose_time_is_over_is_told() -> None:
    async with sitting(form_question("First?", ONE, deadline=time.time() + 2.5)) as here:
        await asyncio.wait_for(asyncio.shield(here.asked[0]), 5)
        await here.sees("Nobody answered in time. Nothing was sent.")


async def test_the_screen_ends_by_itself_when_nothing_waits() -> None:
    async with sitting(form_question(form=EMPTY)) as here:
        await here.press("y")
        await here.sees("notes has your answer.")
        for _ in range(100):
            if not here.app.is_running:
                break
            await asyncio.sleep(0.05)
        assert here.app.return_code == 0


@pytest.mark.shows("D4")
async def test_an_accept_that_the_queue_calls_too_soon_is_told_and_can_be_repeated() -> None:
    slow = Stopped()
    queue, question = Queue(slow), form_question(form=EMPTY)
    asked = asyncio.create_task(queue.put(question))
    await asyncio.sleep(0)
    async with sitting(queue=queue) as here:
        await here.sees("notes asks")
        await here.settle()
        await here.press("y")
        await here.sees("so nothing was sent. Look again, then choose.")
        slow.now += ARMED_AFTER
        await here.press("y")
        assert (await asked).answer == Accepted({})
