"""Questions that came together, on one screen: one sending for all, or one by one."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.desks.questions import NOTES, form_question, link_question
from tests.desks.terminal.sitting import Browser, Sitting, sitting

from handraise.desks import Cause, Decision, Waiting
from handraise.desks.codes import AnswerCode
from handraise.forms import Flag, Form, Text
from handraise.questions import Accepted, Buttons, Cancelled, Declined, QuestionHints

ONE = Form.by_hand(Text("name", min_length=2))
CALL = Cause((("plan", {}),), call_id="call-1")


def batch() -> list[Waiting]:
    return [form_question(f"Part {n}?", ONE, cause=CALL) for n in (1, 2, 3)]


async def fill_in(here: Sitting, *answers: str) -> None:
    for answer in answers:
        await here.type(answer)
        await here.press("tab")


@pytest.mark.shows("D8")
async def test_a_batch_is_one_screen_and_one_sending() -> None:
    one, two, three = batch()
    async with sitting(one, form_question("Another?", ONE), two, three) as here:
        await here.sees("Part 1?", "Part 2?", "3 together · 1 more waiting")
        await here.sees("Decline all  F3", "Cancel all  Esc", "One by one  F8", "F8 shows them one by one")
        await fill_in(here, "a1", "a2", "a3")
        assert all(here.undecided(at) for at in range(4))
        await here.press("f5")
        await here.sees("Another?")
        for at, n in ((0, 1), (2, 2), (3, 3)):
            assert (await here.decision(at)).answer == Accepted({"name": f"a{n}"})
        assert here.undecided(1)


@pytest.mark.shows("D10")
async def test_what_does_not_fit_in_any_part_keeps_all_from_being_sent() -> None:
    async with sitting(*batch()) as here:
        await fill_in(here, "a1", "x", "a3")
        await here.press("f5")
        await here.sees("One field needs a correction: Name", "Enter at least 2 characters.")
        assert all(here.undecided(at) for at in range(3))


@pytest.mark.shows("D2", "D8")
async def test_one_by_one_each_is_decided_by_itself_and_drafts_stay() -> None:
    async with sitting(*batch()) as here:
        await fill_in(here, "a1", "a2")
        await here.press("f8")
        await here.sees("Part 1?", "Question 1 of 3", "Together  F8")
        await here.press("f3")
        assert (await here.decision(0)).answer == Declined()
        await here.sees("Part 2?", "Question 2 of 3", "a2")
        await here.press("f8")
        await here.sees("Part 2?", "Part 3?", "2 together", "a2")
        await here.press("escape", "escape")
        assert [(await here.decision(at)).answer for at in (1, 2)] == [Cancelled()] * 2


@pytest.mark.shows("D2", "D5")
async def test_all_are_declined_at_once_and_a_block_makes_one_rule() -> None:
    async with sitting(*batch()) as here:
        await here.press("f4", "a")
        decisions = [await here.decision(at) for at in range(3)]
    assert [decision.answer for decision in decisions] == [Declined()] * 3
    assert [decision.block for decision in decisions] == ["always", None, None]


@pytest.mark.shows("D8")
async def test_a_part_that_ends_elsewhere_leaves_the_others_and_what_was_typed() -> None:
    questions = batch()
    async with sitting(*questions) as here:
        await fill_in(here, "a1")
        here.queue.decide(questions[1].id, Decision(Declined(), desk="web"))
        await here.sees("2 together", "The question of notes is over. Declined. It ended in the browser.")
        await here.sees("Part 1?", "Part 3?", "a1")


@pytest.mark.shows("D8")
async def test_a_part_that_comes_later_joins_the_screen() -> None:
    first, second, _ = batch()
    async with sitting(first) as here:
        await here.sees("Part 1?")
        here.asked.append(asyncio.create_task(here.queue.put(second)))
        await here.sees("Part 1?", "Part 2?", "2 together")


@pytest.mark.shows("D2")
async def test_a_link_of_the_same_call_is_asked_about_by_itself() -> None:
    browser = Browser()
    link = replace(link_question(cause=CALL), origin=NOTES)
    empty = form_question("Delete it?", Form.by_hand(), cause=CALL)
    async with sitting(link, batch()[0], empty, browser=browser) as here:
        await here.sees("Open this link", "Question 1 of 3")
        await here.press("f3")
        await here.sees("Part 1?", "Delete it?", "2 together")
        await fill_in(here, "a1")
        await here.press("f5")
        assert (await here.decision(1)).answer == Accepted({"name": "a1"})
        assert (await here.decision(2)).answer == Accepted({})
    assert browser.opened == []


@pytest.mark.shows("D9")
async def test_the_screen_says_how_to_answer_from_another_terminal() -> None:
    code = AnswerCode()
    [question, *_] = batch()
    async with sitting(question, code=code) as here:
        await here.press("f9")
        await here.sees(f"From another terminal: handraise answer {question.id}, code {code.shown()}")
        here.asked.append(asyncio.create_task(here.queue.put(link_question(cause=CALL))))
        await here.press("f7", "f9")
        await here.sees(f"code {code.shown()}")


@pytest.mark.shows("D8")
async def test_a_confirmation_in_a_batch_shows_what_its_answers_do() -> None:
    sure = form_question("Part 2?", Form.by_hand(Flag("answer")), cause=CALL)
    hints = QuestionHints(buttons=Buttons("Delete 47 files", "Keep them"))
    sure = replace(sure, question=replace(sure.question, hints=hints))
    async with sitting(form_question("Part 1?", ONE, cause=CALL), sure) as here:
        await here.sees("Yes: “Delete 47 files”", "No: “Keep them”")
