"""Filling in a form at the terminal, by keyboard only."""

from __future__ import annotations

import asyncio
from importlib import import_module

import pytest
from tests.desks.questions import form_question
from tests.desks.terminal.sitting import Sitting, sitting
from tests.desks.web import samples

from handraise.desks import Queue
from handraise.desks.language import GERMAN
from handraise.forms import Choice, Choices, Flag, Form, Integer, Number, Text
from handraise.questions import Accepted, Cancelled, Declined
from handraise.secrets import SecretFinding

ONE = Form.by_hand(Text("name", title="Your name", min_length=2))


async def fill_in(here: Sitting) -> None:
    """The required fields of every kind, and one of the others."""
    await here.type("Ada")
    await here.press("tab")
    await here.type("ada@example.org")
    await here.press("tab", "tab", "t", "tab", "tab", "tab", "n", "tab", "down", "space", "tab", "space")


@pytest.mark.shows("D2", "D4", "D10")
async def test_every_kind_of_field_is_answered_by_keyboard_and_sent() -> None:
    async with sitting(form_question()) as here:
        await fill_in(here)
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


@pytest.mark.shows("D2c", "D4", "O8")
@pytest.mark.parametrize(("key", "answer"), [("y", True), ("n", False)])
async def test_a_confirmation_is_answered_with_one_key(key: str, answer: bool) -> None:
    async with sitting(samples.confirm()) as here:
        screen = await here.sees("Yes: “Delete 47 files”", "No: “Keep them”")
        assert screen.split("\n")[1] == " █ Delete 47 files in “Old”?"
        await here.press("enter", "space", "f5")
        assert here.undecided()
        await here.press(key)
        decision = await here.decision()
        assert (decision.answer, decision.said_no) == (Accepted({"answer": answer}), not answer)
        await here.sees("notes has your answer." if answer else "You said no to notes.")


@pytest.mark.shows("D10")
async def test_keys_that_arrive_together_land_where_a_tab_among_them_leads() -> None:
    form = Form.by_hand(Text("a"), Text("b"), Choice("c", ["red", "green"]), Text("d"))
    async with sitting(form_question(form=form)) as here:
        await here.type_keys(
            "o", "n", "e", "tab", "t", "w", "o", "enter", "down", "enter", "x", "shift+tab", "tab", "y"
        )
        await here.press("f5")
        assert (await here.decision()).answer == Accepted({"a": "one", "b": "two", "c": "green", "d": "xy"})


@pytest.mark.shows("D10")
async def test_pasted_text_is_there_once_and_its_tabs_go_from_field_to_field() -> None:
    form = Form.by_hand(Text("a"), Text("b"), Text("c"), Text("d", required=False, max_length=1000))
    async with sitting(form_question(form=form)) as here:
        await here.paste("one\ttwo\tthree\nmore")
        await here.sees("Only the first line of what you pasted fits here.")
        await here.press("tab")
        await here.paste("x\ty")
        await here.press("f5")
        answer = (await here.decision()).answer
    assert answer == Accepted({"a": "one", "b": "two", "c": "three", "d": "x\ty"})


@pytest.mark.shows("D4")
async def test_pasted_text_presses_no_button() -> None:
    async with sitting(samples.confirm()) as here:
        for _ in range(5):
            await here.paste("y\n\ty\n")
            await here.press("tab")
        assert here.undecided()


@pytest.mark.shows("D10")
async def test_arrows_go_from_field_to_field_and_scroll_where_there_is_none() -> None:
    form = Form.by_hand(*(Text(f"field_{number}") for number in range(9)))
    async with sitting(form_question(form=form)) as here:
        await here.press("down", "down")
        await here.sees("Field 3 of 9")
        await here.press("up")
        await here.sees("Field 2 of 9")
    async with sitting(samples.confirm(), size=(60, 12)) as here:
        await here.press("f9", *["down"] * 20)
        await here.sees("leaves the question waiting")


@pytest.mark.shows("D2f")
async def test_page_down_reads_on_before_it_moves_through_a_list() -> None:
    async with sitting(samples.long(2_000, 30)) as here:
        await here.sees("there is more to read: PgDn", "› ( ) City 0")
        while "there is more to read" in here.screen():
            await here.sees("› ( ) City 0")
            await here.press("pagedown")
        await here.press("pagedown")
        await here.sees("› ( ) City 7")


@pytest.mark.shows("D10")
async def test_enter_picks_what_is_highlighted_and_goes_on() -> None:
    form = Form.by_hand(Choice("size", ["s", "m"]), Text("name"))
    async with sitting(form_question(form=form)) as here:
        await here.press("down", "enter")
        await here.sees("(•) m", "› Name")


@pytest.mark.shows("D10")
async def test_options_and_buttons_can_be_clicked() -> None:
    form = Form.by_hand(Choice("size", ["small", "medium"]))
    async with sitting(form_question(form=form)) as here:
        await here.click("( ) medium")
        await here.sees("(•) medium")
        await here.click("Send")
        assert (await here.decision()).answer == Accepted({"size": "medium"})


@pytest.mark.shows("D2f")
async def test_one_of_2000_options_is_found_by_typing() -> None:
    async with sitting(samples.long(80, 2_000)) as here:
        await here.type("1999")
        await here.sees("Search: 1999 (1 found)")
        await here.press("enter", "f5")
        assert (await here.decision()).answer == Accepted({"city": "City 1999"})


async def test_a_search_that_finds_nothing_stays_and_ends_when_the_person_leaves() -> None:
    form = Form.by_hand(Choice("size", ["small", "medium"]), Text("name"))
    async with sitting(form_question(form=form)) as here:
        await here.press("y", "enter")
        await here.sees("Nothing contains “y”. Backspace takes it back.", "› Size")
        await here.press("tab")
        await here.sees("( ) small", "( ) medium", "› Name")


@pytest.mark.shows("D2d")
async def test_what_the_server_could_not_use_is_said_at_the_field_and_the_rest_is_there() -> None:
    async with sitting(samples.asked_again()) as here:
        await here.sees("Ada", "Not accepted: “No room has more than 12.”", "› Team size")


async def test_a_number_is_read_as_the_person_writes_it_and_shown() -> None:
    form = Form.by_hand(Number("budget"))
    async with sitting(form_question(form=form)) as here:
        await here.type("12,5")
        await here.sees("Read as 12.5")
        await here.press("f5")
        assert (await here.decision()).answer == Accepted({"budget": 12.5})


@pytest.mark.shows("D4")
async def test_nothing_is_answered_or_chosen_beforehand() -> None:
    async with sitting(form_question(), size=(120, 50)) as here:
        screen = here.screen()
        assert "•" not in screen
        assert "[x]" not in screen
        assert screen.count("(not answered)") == 4
        await here.press(*["tab"] * 15)  # whoever goes round answers nothing
        await here.press("f5")
        await here.sees("3 fields need a correction: Your name, Is it urgent?, Size")
        assert here.undecided()


@pytest.mark.shows("D10", "F6")
async def test_what_is_wrong_is_said_under_the_field_while_it_is_typed_and_can_be_corrected() -> None:
    async with sitting(form_question(form=ONE)) as here:
        await here.press("A")
        await here.sees("✗ Enter at least 2 characters.")
        await here.press("f5")
        await here.sees("One field needs a correction: Your name")
        await here.press("d", "a")
        assert "✗" not in here.screen()
        await here.press("f5")
        assert (await here.decision()).answer == Accepted({"name": "Ada"})


@pytest.mark.shows("D10")
async def test_sending_goes_to_the_first_field_that_is_wrong() -> None:
    form = Form.by_hand(Text("a", default="x"), Integer("b", title="How old?", maximum=9))
    async with sitting(form_question(form=form)) as here:
        await here.press("tab", "1", "0", "shift+tab", "f5")
        screen = await here.sees("✗ Enter a whole number, at most 9.")
        assert "› How old?" in screen


@pytest.mark.shows("D2", "O1")
async def test_decline_is_one_key_away() -> None:
    async with sitting(form_question(form=ONE)) as here:
        assert "Send  F5  Decline  F3  Cancel  Esc  More  F4" in here.screen()
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
        assert here.screen().count("suggested") == 2
        await here.press("f6")
        assert here.screen().count("suggested") == 1
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
        await here.press("tab", "f6", "f5")
        assert (await here.decision()).answer == Accepted({"size": "m"})


@pytest.mark.shows("D4")
async def test_none_of_these_is_an_answer_and_not_the_same_as_no_answer() -> None:
    form = Form.by_hand(Choices("extras", ["card", "wrap"]))
    async with sitting(form_question(form=form)) as here:
        await here.press("f5")
        await here.sees("✗")
        await here.press("end", "space")
        await here.sees("[x] None of these")
        await here.press("f5")
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
        await here.press("f5")
        assert (await here.decision()).answer == Accepted({"zone": "Zone 199"})


@pytest.mark.shows("D10")
async def test_dates_are_helped_with() -> None:
    form = Form.by_hand(Text("day", format="date"))
    async with sitting(form_question(form=form)) as here:
        await here.sees("type a date", "t today")
        await here.type("2028-02-29")
        await here.sees("Tuesday, 29 February 2028")
        await here.press("up", "pageup")
        await here.sees("2028-04-01", "Saturday, 1 April 2028")
        await here.press("f5")
        assert (await here.decision()).answer == Accepted({"day": "2028-04-01"})


async def test_a_date_is_typed_as_people_write_it_and_read_back() -> None:
    form = Form.by_hand(Text("day", format="date"))
    async with sitting(form_question(form=form)) as here:
        await here.type("29 Feb 2028")
        await here.sees("Read as Tuesday, 29 February 2028")
        await here.press("f5")
        assert (await here.decision()).answer == Accepted({"day": "2028-02-29"})


@pytest.mark.shows("F9", "D4")
@pytest.mark.parametrize(("key", "answer"), [("y", Accepted({})), ("n", Declined())])
async def test_a_form_without_fields_is_a_plain_yes_or_no(key: str, answer: object) -> None:
    async with sitting(form_question("Delete 47 files?", Form.by_hand())) as here:
        assert "Yes  y  No  n  Cancel  Esc  More  F4" in here.screen()
        await here.press("enter", "space")
        assert here.undecided()
        await here.press(key)
        assert (await here.decision()).answer == answer


@pytest.mark.shows("S4")
async def test_a_key_that_was_typed_does_not_leave() -> None:
    form = Form.by_hand(Text("note"))
    async with sitting(form_question(form=form)) as here:
        await here.type("ghp_16C7e42F292c6912E7710c838347Ae178B4a")
        await here.press("f5")
        await here.sees("It cannot be sent.")
        await here.press("f5")
        assert here.undecided()


@pytest.mark.shows("S4")
async def test_personal_data_leaves_only_when_it_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SecretFinding("name", 2, "national_id", "This holds a national id.")
    monkeypatch.setattr(import_module("handraise.desks.fill"), "scan_answer", lambda *_: (found,))
    async with sitting(form_question(form=ONE)) as here:
        await here.type("Ada")
        await here.press("f5")
        await here.sees("Look once more: This holds a national id. F5 sends it so.")
        assert here.undecided()
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
        await here.press("a", "enter", "b", "f9")
        await here.sees("The AI model may see it.")
        await here.press("f5")
        assert (await here.decision()).answer == Accepted({"story": "a\nb"})


@pytest.mark.shows("W9b")
async def test_a_form_that_needs_a_passkey_is_not_sent_from_here() -> None:
    async with sitting(form_question(form=Form.by_hand(), passkey=True)) as here:
        await here.press("y")
        await here.sees("This needs your passkey: answer at the web desk")
        assert here.undecided()
        await here.press("f3")
        assert (await here.decision()).answer == Declined()


async def test_a_date_is_written_and_stepped_as_the_person_writes_it() -> None:
    form = Form.by_hand(Text("day", format="date", default="2026-07-31"))
    async with sitting(form_question("When?", form), language=GERMAN) as here:
        await here.sees("31.07.2026")
        await here.press("up")
        await here.sees("01.08.2026")
        await here.press("f5")
        assert (await here.decision()).answer == Accepted({"day": "2026-08-01"})


@pytest.mark.shows("D10")
async def test_what_is_wrong_is_in_sight_under_a_field_on_the_last_line_too() -> None:
    fields = [
        Integer(f"f{at}", title=f"Number {at}", required=False, maximum=9, description="Why this is asked.")
        for at in range(4)
    ]
    async with sitting(form_question(form=Form.by_hand(*fields)), size=(80, 21)) as here:
        await here.press("tab", "tab", "tab", "1", "0")
        await here.sees("Number 3", "✗ Enter a whole number, at most 9.")


@pytest.mark.shows("D10")
@pytest.mark.parametrize("at", [0, 5])
async def test_what_is_wrong_is_in_sight_again_when_somebody_sends_what_they_scrolled_away(at: int) -> None:
    fields = [
        Text(f"f{each}", title=f"Name {each}", required=each == at, description="Why this is asked.")
        for each in range(6)
    ]
    async with sitting(form_question(form=Form.by_hand(*fields)), size=(80, 21)) as here:
        if at == 0:
            await here.press("pagedown")
        assert f"Name {at}" not in here.screen()
        await here.press("f5")
        await here.sees(f"One field needs a correction: Name {at}", "✗")
        await here.press("x", "f5")
        assert (await here.decision()).answer == Accepted({f"f{at}": "x"})
