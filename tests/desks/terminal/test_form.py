"""Filling in a form at the terminal, by keyboard only."""

from __future__ import annotations

import asyncio
from importlib import import_module

import pytest
from tests.desks.questions import form_question
from tests.desks.terminal.sitting import Sitting, sitting

from handraise.desks import Queue
from handraise.forms import Choice, Choices, Flag, Form, Integer, Text
from handraise.policy.secrets import SecretFinding
from handraise.questions import Accepted, Cancelled, Declined

ONE = Form.by_hand(Text("name", title="Your name", min_length=2))


async def fill_in(here: Sitting) -> None:
    """The required fields of every kind, and one of the others."""
    await here.type("Ada")
    await here.press("tab")
    await here.type("ada@example.org")
    await here.press("tab", "tab", "t", "tab", "tab", "tab", "n", "tab", "down", "space", "tab", "space")


@pytest.mark.shows("D2", "D4", "D10")
async def test_every_kind_of_field_is_answered_by_keyboard_reviewed_and_sent() -> None:
    async with sitting(form_question()) as here:
        await fill_in(here)
        await here.press("f2")
        screen = await here.sees("check what will be sent", "Nothing has been sent yet")
        assert '"Ada"' in screen
        assert "false" in screen
        assert '"m"' in screen
        assert "reads No" in screen
        assert "reads Medium" in screen
        assert "3  as suggested" in screen
        assert "nothing is sent" in screen
        assert "Goes to   notes (python notes.py)" in screen
        assert here.undecided()
        await here.press("f5")
        decision = await here.decision()
    assert isinstance(decision.answer, Accepted)
    content = decision.answer.data
    assert content is not None
    assert len(str(content.pop("day"))) == 10
    assert content == {
        "name": "Ada",
        "email": "ada@example.org",
        "count": 3,
        "ratio": 0.5,
        "urgent": False,
        "size": "m",
        "extras": ["gift wrap"],
    }
    assert (decision.by, decision.desk, decision.edited) == ("human", "terminal", ())


@pytest.mark.shows("D4")
async def test_nothing_is_answered_or_chosen_beforehand() -> None:
    async with sitting(form_question(), size=(120, 50)) as here:
        screen = here.screen()
        assert "•" not in screen
        assert "[x]" not in screen
        assert screen.count("(not answered)") == 4
        await here.press(*["enter"] * 15)  # whoever presses Enter too often goes round, and answers nothing
        await here.press("f2")
        await here.sees("3 fields need a correction: Your name, Is it urgent?, size")
        assert here.undecided()


@pytest.mark.shows("D10", "F6")
async def test_what_is_wrong_is_said_under_the_field_while_it_is_typed_and_can_be_corrected() -> None:
    async with sitting(form_question(form=ONE)) as here:
        await here.press("A")
        await here.sees("✗ Enter at least 2 characters.")
        await here.press("f2")
        await here.sees("One field needs a correction: Your name")
        await here.press("d", "a")
        assert "✗" not in here.screen()
        await here.press("f2", "f5")
        assert (await here.decision()).answer == Accepted({"name": "Ada"})


@pytest.mark.shows("D10")
async def test_review_goes_to_the_first_field_that_is_wrong() -> None:
    form = Form.by_hand(Text("a", default="x"), Integer("b", title="How old?", maximum=9))
    async with sitting(form_question(form=form)) as here:
        await here.press("tab", "1", "0", "shift+tab", "f2")
        screen = await here.sees("✗ Enter 9 or less.")
        assert "› How old?" in screen


@pytest.mark.shows("D2")
async def test_the_review_leads_back_to_the_fields_with_everything_in_them() -> None:
    async with sitting(form_question(form=ONE)) as here:
        await here.type("Ada")
        await here.press("f2", "f2", "x", "f2")
        await here.sees('"Adax"')
        await here.press("f5")
        assert (await here.decision()).answer == Accepted({"name": "Adax"})


@pytest.mark.shows("D2", "O1")
@pytest.mark.parametrize("reviewed", [False, True])
async def test_decline_is_one_key_away_on_every_screen(reviewed: bool) -> None:
    async with sitting(form_question(form=ONE)) as here:
        if reviewed:
            await here.type("Ada")
            await here.press("f2")
        assert "F3 Decline    Esc Cancel    F4 Block…" in here.screen()
        await here.press("f3")
        decision = await here.decision()
    assert (decision.answer, decision.block) == (Declined(), None)


@pytest.mark.shows("O1", "O4")
async def test_escape_cancels_and_is_no_decline() -> None:
    async with sitting(form_question(form=ONE)) as here:
        await here.press("escape")
        assert (await here.decision()).answer == Cancelled()
        await here.sees("notes is told that nothing was decided.")


@pytest.mark.shows("O4")
async def test_escape_asks_once_before_it_drops_what_was_entered() -> None:
    async with sitting(form_question(form=ONE)) as here:
        await here.press("A", "escape")
        await here.sees("Esc again cancels and drops what you entered")
        assert here.undecided()
        await here.press("d", "escape")  # another key takes the first Escape back
        assert here.undecided()
        await here.press("escape")
        assert (await here.decision()).answer == Cancelled()


@pytest.mark.shows("D5")
@pytest.mark.parametrize(("key", "length"), [("s", "session"), ("a", "always")])
async def test_blocking_asks_for_how_long_and_declines(key: str, length: str) -> None:
    async with sitting(form_question(form=ONE)) as here:
        await here.press("f4")
        await here.sees("Block notes?", "for this session", "always")
        await here.press("enter")
        assert here.undecided()
        await here.press(key)
        decision = await here.decision()
    assert (decision.answer, decision.block) == (Declined(), length)


@pytest.mark.shows("D5")
async def test_blocking_can_be_left_without_deciding_anything() -> None:
    async with sitting(form_question(form=ONE)) as here:
        await here.press("f4", "escape")
        await here.sees("notes asks")
        assert here.undecided()


@pytest.mark.shows("D2", "D10")
async def test_the_keys_are_buttons_too_for_those_who_go_there_with_tab() -> None:
    async with sitting(form_question(form=ONE)) as here:
        await here.press("tab", "tab")
        await here.sees("Enter presses this")
        await here.press("enter")
        assert (await here.decision()).answer == Declined()


@pytest.mark.shows("F4")
async def test_a_suggestion_is_marked_sent_when_left_and_nothing_when_cleared() -> None:
    form = Form.by_hand(
        Integer("count", default=0, required=False), Flag("sure", default=False, required=False)
    )
    async with sitting(form_question(form=form)) as here:
        assert here.screen().count("suggested by the server") == 2
        await here.press("f6")
        assert here.screen().count("suggested by the server") == 1
        await here.press("f2")
        await here.sees("nothing is sent  suggestion cleared", "false  as suggested")
        await here.press("f5")
        decision = await here.decision()
    assert decision.answer == Accepted({"sure": False})
    assert decision.edited == ("count",)


@pytest.mark.shows("F4")
async def test_a_suggestion_that_was_cleared_can_be_taken_back() -> None:
    form = Form.by_hand(Choice("size", ["s", "m"], default="m"), Text("note", default="", required=False))
    async with sitting(form_question(form=form)) as here:
        await here.press("f6")
        assert "(•)" not in here.screen()
        await here.press("f6")
        assert "(•) m" in here.screen()
        await here.press("tab", "f6", "f2", "f5")
        assert (await here.decision()).answer == Accepted({"size": "m"})


@pytest.mark.shows("D4")
async def test_none_of_these_is_an_answer_and_not_the_same_as_no_answer() -> None:
    form = Form.by_hand(Choices("extras", ["card", "wrap"]))
    async with sitting(form_question(form=form)) as here:
        await here.press("f2")
        await here.sees("✗")
        await here.press("end", "space")
        await here.sees("[x] None of these")
        await here.press("f2", "f5")
        assert (await here.decision()).answer == Accepted({"extras": []})


async def test_a_pick_is_undone_by_picking_it_again() -> None:
    form = Form.by_hand(Choice("size", ["s", "m"]), Flag("sure", required=False))
    async with sitting(form_question(form=form)) as here:
        await here.press("space")
        assert "(•) s" in here.screen()
        await here.press("space")
        assert "(•)" not in here.screen()


async def test_a_long_list_says_how_much_of_it_is_out_of_sight() -> None:
    form = Form.by_hand(Choice("zone", [f"Zone {n}" for n in range(200)]))
    async with sitting(form_question(form=form)) as here:
        await here.sees("↓ 193 more below")
        await here.press("end", "space")
        await here.sees("(•) Zone 199", "↑ 193 more above")
        await here.press("f2", "f5")
        assert (await here.decision()).answer == Accepted({"zone": "Zone 199"})


@pytest.mark.shows("D10")
async def test_dates_are_helped_with() -> None:
    form = Form.by_hand(Text("day", format="date"))
    async with sitting(form_question(form=form)) as here:
        await here.sees("a date, like 2026-07-28", "t today")
        await here.type("2028-02-29")
        await here.sees("Tuesday, 29 February 2028")
        await here.press("up", "pageup")
        await here.sees("2028-04-01", "Saturday, 1 April 2028")
        await here.press("f2", "f5")
        assert (await here.decision()).answer == Accepted({"day": "2028-04-01"})


@pytest.mark.shows("F9", "D4")
async def test_a_form_without_fields_is_a_plain_yes_or_no() -> None:
    async with sitting(form_question("Delete 47 files?", Form.by_hand())) as here:
        assert "F5 Accept    F3 Decline    Esc Cancel    F4 Block…" in here.screen()
        await here.press("enter", "space", "y")
        assert here.undecided()
        await here.press("f5")
        assert (await here.decision()).answer == Accepted({})


@pytest.mark.shows("S4")
async def test_a_key_that_was_typed_does_not_leave() -> None:
    form = Form.by_hand(Text("note"))
    async with sitting(form_question(form=form)) as here:
        await here.type("ghp_16C7e42F292c6912E7710c838347Ae178B4a")
        await here.press("f2")
        screen = await here.sees("A form must not carry that.")
        assert "check what will be sent" not in screen
        await here.press("f5")
        assert here.undecided()


@pytest.mark.shows("S4")
async def test_personal_data_leaves_only_when_it_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SecretFinding("name", 2, "national_id", "What was typed into 'name' holds a national id.")
    monkeypatch.setattr(import_module("handraise.desks.fill"), "scan_answer", lambda content: (found,))
    async with sitting(form_question(form=ONE)) as here:
        await here.type("Ada")
        await here.press("f2")
        await here.sees("Warning   What was typed into 'name' holds a national id.", "F5 Send anyway")
        await here.press("f5")
        assert (await here.decision()).answer == Accepted({"name": "Ada"})


@pytest.mark.shows("D8")
async def test_what_was_typed_is_kept_and_found_again_by_whoever_sits_down_next() -> None:
    queue, question = Queue(), form_question(form=ONE)
    asked = asyncio.create_task(queue.put(question))
    await asyncio.sleep(0)
    async with sitting(queue=queue) as here:
        await here.sees("notes asks")
        await asyncio.sleep(0.6)  # by the real clock, as for a person
        await here.type("Ad")
    assert queue.draft(question.id) == {"name": "Ad"}
    async with sitting(queue=queue) as here:
        await here.sees("Ad")
    asked.cancel()


@pytest.mark.shows("D3")
async def test_several_lines_can_be_typed_where_a_text_may_be_long() -> None:
    form = Form.by_hand(Text("story", max_length=2000))
    async with sitting(form_question(form=form)) as here:
        await here.press("a", "enter", "b", "f2")
        await here.sees('"a\\nb"', "The model may see it.")
        await here.press("f5")
        assert (await here.decision()).answer == Accepted({"story": "a\nb"})


@pytest.mark.shows("W9b")
async def test_a_form_that_needs_a_passkey_is_not_sent_from_here() -> None:
    async with sitting(form_question(form=Form.by_hand(), passkey=True)) as here:
        await here.press("f5")
        await here.sees("This needs your passkey: answer at the web desk")
        assert here.undecided()
        await here.press("f3")
        assert (await here.decision()).answer == Declined()
