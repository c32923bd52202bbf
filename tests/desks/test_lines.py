"""The plain line mode, over a pipe."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib import import_module

import pytest
from tests.desks.questions import form_question, link_question
from tests.desks.terminal.sitting import Browser, Patient, Stopped, nothing_known
from tests.desks.terminal.test_layout import HOSTILE

from handraise.desks import ARMED_AFTER, Decision, Queue, Waiting
from handraise.desks.lines import LineDesk
from handraise.desks.terminal_session import TerminalSession
from handraise.desks.waiting import Cause
from handraise.forms import Choice, Choices, Flag, Form, Integer, Text
from handraise.questions import Accepted, Cancelled, Declined
from handraise.secrets import SecretFinding
from handraise.urls import NotOpened
from handraise.urls.open import Hindrance

ONE = Form.by_hand(Text("name", title="Your name", min_length=2))
EMPTY = Form.by_hand()


class Talk:
    """A person who writes lines and reads what comes back."""

    def __init__(self, queue: Queue, asked: list[asyncio.Task[Decision]], desk: asyncio.Task[None]) -> None:
        self.queue = queue
        self.asked = asked
        self.desk = desk
        self.output = io.StringIO()
        self._read = 0
        reading, self._pipe = os.pipe()
        self.input = os.fdopen(reading, "r")

    def writes(self, *lines: str) -> None:
        os.write(self._pipe, "".join(f"{line}\n" for line in lines).encode())

    async def reads(self, text: str) -> str:
        """What came since the last time, up to this text."""
        for _ in range(1000):
            found = self.output.getvalue().find(text, self._read)
            if found >= 0:
                came, self._read = self.output.getvalue()[self._read : found + len(text)], found + len(text)
                return came
            await asyncio.sleep(0.005)
        raise AssertionError(f"{text!r} did not come after:\n{self.output.getvalue()[self._read :]}")

    async def says(self, prompt: str, *lines: str) -> None:
        """Wait for a prompt, then write."""
        await self.reads(prompt)
        self.writes(*lines)

    async def decision(self, at: int = 0) -> Decision:
        return await asyncio.wait_for(asyncio.shield(self.asked[at]), 5)

    def hang_up(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1


@asynccontextmanager
async def talk(
    *questions: Waiting,
    clock: Callable[[], float] | None = None,
    browser: Browser | None = None,
    hindered: Callable[[], Hindrance | None] = nothing_known,
) -> AsyncIterator[Talk]:
    clock = clock or Patient()
    queue = Queue(clock)
    asked = [asyncio.create_task(queue.put(question)) for question in questions]
    await asyncio.sleep(0)
    here = Talk(queue, asked, asyncio.current_task())  # type: ignore[arg-type]
    opener = browser or Browser()
    session = TerminalSession(queue, clock=clock, opener=opener, hindered=hindered)
    desk = LineDesk(session, here.input, here.output)
    here.desk = asyncio.create_task(desk.run())
    try:
        yield here
    finally:
        here.hang_up()
        with suppress(asyncio.CancelledError, TimeoutError):
            await asyncio.wait_for(asyncio.shield(here.desk), 0.05)
        here.desk.cancel()
        for task in asked:
            task.cancel()
        await asyncio.gather(here.desk, *asked, return_exceptions=True)
        await asyncio.sleep(0)
        here.input.close()


async def test_who_answers_a_parked_call_is_told_to_tell_the_client() -> None:
    question = form_question(form=ONE, cause=Cause((("delete", {}),), call_id="c"))
    async with talk(question) as here:
        here.queue.unattended.add("c")
        await here.says("Answer", "!decline")
        await here.reads("Your client does not wait any more. Tell it that you answered.")


@pytest.mark.shows("D2", "D3", "D10", "F4")
async def test_every_field_is_asked_in_turn_reviewed_and_sent_by_a_word() -> None:
    async with talk(form_question()) as here:
        said = await here.reads("9 fields.")
        for words in ("QUESTION:", "| What shall it be?", "notes asks, to run delete_note."):
            assert words in said
        await here.says("Answer", "?")
        said = await here.reads("An empty line keeps")
        for words in (
            "python notes.py",
            "Notes Server 1.0",
            'delete_note(title="Plans")',
            "The AI model may see it.",
        ):
            assert words in said
        await here.says("Answer", "Ada")
        await here.says("Field 2 of 9", "ada@example.org")
        await here.says("Field 3 of 9", "")
        await here.says("Field 4 of 9", "2026-07-28")
        await here.says("Stands now: 3, suggested. An empty line keeps it", "")
        await here.says("Field 6 of 9", "!clear")
        await here.says("Field 7 of 9: Is it urgent? required.", "no")
        await here.says("2. Medium", "2")
        await here.says("numbers, with commas between them", "1, 2")
        review = await here.reads("Write send")
        for words in ("1. Your name: Ada", "3. Site: nothing", "5. How many?: 3", "6. Ratio: nothing"):
            assert words in review
        assert "7. Is it urgent?: No" in review
        assert "8. Size: Medium" in review
        here.writes("send")
        decision = await here.decision()
    assert decision.answer == Accepted(
        {
            "name": "Ada",
            "email": "ada@example.org",
            "day": "2026-07-28",
            "count": 3,
            "urgent": False,
            "size": "m",
            "extras": ["gift wrap", "card"],
        }
    )
    assert (decision.by, decision.desk, decision.edited) == ("human", "terminal", ("ratio",))


async def test_a_single_field_is_counted_as_one() -> None:
    async with talk(form_question(form=ONE)) as here:
        await here.reads("\n1 field. Commands:")


@pytest.mark.shows("D10", "F6")
async def test_what_is_wrong_is_said_and_asked_again() -> None:
    form = Form.by_hand(Integer("age", maximum=9), Flag("sure"), Choices("of", ["a", "b"]))
    async with talk(form_question(form=form)) as here:
        await here.says("Field 1 of 3", "many")
        await here.says("PROBLEM: Enter a whole number.", "10")
        await here.says("PROBLEM: Enter a whole number, at most 9.", "")
        await here.says("PROBLEM:", "9")
        await here.says("Field 2 of 3", "maybe")
        await here.says("PROBLEM: Write yes or no", "")
        await here.says("PROBLEM: Please choose.", "y")
        await here.says("Field 3 of 3", "3")
        await here.says("PROBLEM: Write a number from 1 to 2", "none")
        await here.says("Write send", "send")
        assert (await here.decision()).answer == Accepted({"age": 9, "sure": True, "of": []})


@pytest.mark.shows("D2")
async def test_a_field_can_be_gone_back_to_from_the_next_one_and_from_the_review() -> None:
    form = Form.by_hand(Text("a"), Text("b"))
    async with talk(form_question(form=form)) as here:
        await here.says("Field 1 of 2", "one")
        await here.says("Field 2 of 2", "!back")
        await here.says("Stands now: one.", "two")
        await here.says("Field 2 of 2", "three")
        await here.says("Write send", "1")
        await here.says("Field 1 of 2", "!!bang")
        await here.says("1. A: !bang", "yes")
        await here.says("Nothing was decided.", "SEND")
        assert (await here.decision()).answer == Accepted({"a": "!bang", "b": "three"})


@pytest.mark.shows("D2", "O1")
@pytest.mark.parametrize(("command", "answer"), [("!decline", Declined()), ("!cancel", Cancelled())])
@pytest.mark.parametrize("reviewed", [False, True])
async def test_declining_and_cancelling_are_possible_at_every_prompt(
    command: str, answer: Declined | Cancelled, reviewed: bool
) -> None:
    async with talk(form_question(form=ONE)) as here:
        if reviewed:
            await here.says("Answer", "Ada")
            await here.reads("Write send")
        else:
            await here.reads("Answer")
        here.writes(command)
        assert (await here.decision()).answer == answer


@pytest.mark.shows("D5")
async def test_blocking_asks_for_how_long() -> None:
    async with talk(form_question(form=ONE)) as here:
        await here.says("Answer", "!block")
        await here.says("session, always or back", "back")
        await here.says("Answer", "!block")
        await here.says("session, always or back", "always")
        decision = await here.decision()
    assert (decision.answer, decision.block) == (Declined(), "always")


@pytest.mark.shows("D10")
async def test_help_names_every_command_and_a_wrong_one_is_no_answer() -> None:
    async with talk(form_question(form=ONE)) as here:
        await here.says("Answer", "?")
        said = await here.reads("Answer: ")
        assert all(command in said for command in ("!back", "!clear", "!decline", "!cancel", "!block"))
        here.writes("!send")
        await here.reads("There is no such command.")


@pytest.mark.shows("F9", "D4")
@pytest.mark.parametrize(("word", "answer"), [("yes", Accepted({})), ("no", Declined())])
async def test_a_form_without_fields_wants_a_yes_or_a_no(word: str, answer: object) -> None:
    async with talk(form_question("Delete 47 files?", EMPTY)) as here:
        await here.says("Write yes or no", "", "accept")
        for _ in range(2):
            await here.reads("Nothing was decided.")
        here.writes(word)
        assert (await here.decision()).answer == answer


async def test_a_date_is_shown_in_words_before_it_is_sent() -> None:
    day = Form.by_hand(Text("day", format="date"), Text("at", format="date-time"))
    async with talk(form_question(form=day)) as here:
        await here.says("Answer:", "2026-07-28", "2026-07-28T14:30:00Z")
        await here.reads("1. Day: Tuesday, 28 July 2026")
        await here.reads("2. At: Tuesday, 28 July 2026, 14:30 (UTC")


@pytest.mark.shows("D4")
async def test_a_word_that_was_written_before_the_question_can_have_been_read_does_not_count() -> None:
    clock = Stopped()
    async with talk(form_question(form=EMPTY), clock=clock) as here:
        here.writes("yes")
        await here.reads("nothing was sent.")
        assert not here.asked[0].done()
        clock.now += ARMED_AFTER
        await here.says("Write yes", "yes")
        assert (await here.decision()).answer == Accepted({})


@pytest.mark.shows("D8")
async def test_an_answer_given_elsewhere_is_told_and_the_next_question_comes() -> None:
    first, second = form_question("First?", ONE), form_question("Second?", ONE)
    async with talk(first, second) as here:
        assert "1 more waiting" in await here.reads("Answer")
        here.queue.decide(first.id, Decision(Declined(), desk="web"))
        await here.reads("The question of notes is over. Declined. It ended in the browser.")
        await here.says("| Second?")
        await here.says("Answer", "Ada")
        await here.says("Write send", "send")
        assert (await here.decision(1)).answer == Accepted({"name": "Ada"})


@pytest.mark.shows("D8")
async def test_a_batch_tells_its_parts() -> None:
    async with talk(*(form_question(f"{n}?", EMPTY, group="g") for n in (1, 2, 3))) as here:
        for n in (1, 2, 3):
            await here.reads(f"Question {n} of 3")
            await here.says("Write yes", "yes")
            assert (await here.decision(n - 1)).answer == Accepted({})


@pytest.mark.shows("O4")
async def test_a_closed_input_cancels_what_waits() -> None:
    async with talk(form_question(form=ONE), form_question(form=ONE)) as here:
        await here.reads("Answer")
        here.hang_up()
        assert (await here.decision(0)).answer == Cancelled()
        assert (await here.decision(1)).answer == Cancelled()
        await asyncio.wait_for(here.desk, 5)


@pytest.mark.shows("D7")
async def test_a_hostile_message_is_written_without_any_control_behind_a_bar() -> None:
    async with talk(form_question(HOSTILE, ONE)) as here:
        said = await here.reads("Answer")
        assert all(character.isprintable() or character == "\n" for character in said)
        lines = said.split("\n")
        for words in ("⟨U+001B⟩[2J", "gnp.exe", "Press F5 to continue", "handraise: question", "AAAA"):
            assert all(line.startswith("| ") for line in lines if words in line)
        assert "⟨U+202E⟩" in said


@pytest.mark.shows("S4")
async def test_a_key_that_was_written_does_not_leave() -> None:
    async with talk(form_question(form=ONE)) as here:
        await here.says("Answer", "ghp_16C7e42F292c6912E7710c838347Ae178B4a")
        await here.says("It cannot be sent.", "Ada")
        await here.says("Write send", "send")
        assert (await here.decision()).answer == Accepted({"name": "Ada"})


@pytest.mark.shows("S4")
async def test_personal_data_leaves_only_when_it_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SecretFinding("name", 2, "national_id", "This holds a national id.")
    monkeypatch.setattr(import_module("handraise.desks.fill"), "scan_answer", lambda *_: (found,))
    async with talk(form_question(form=ONE)) as here:
        await here.says("Answer", "Ada")
        await here.reads("Warning: This holds")
        await here.says("Write send so", "send")
        await here.says("Nothing was decided.", "send so")
        assert (await here.decision()).answer == Accepted({"name": "Ada"})


@pytest.mark.shows("L5")
async def test_a_link_is_written_in_full_and_opened_by_a_word() -> None:
    browser = Browser()
    async with talk(link_question("https://login.example.co.uk/start?a=b"), browser=browser) as here:
        said = await here.reads("Write open")
        assert "https://login.example.co.uk/start?a=b\n" in said
        assert "The link leads to example.co.uk" in said
        assert browser.opened == []
        here.writes("yes", "open")
        assert (await here.decision()).answer == Accepted(None)
        assert len(browser.opened) == 1


@pytest.mark.shows("L5", "O4")
async def test_a_link_that_cannot_be_opened_here_is_left_to_the_person() -> None:
    url = "https://example.com/start"
    async with talk(link_question(url), browser=Browser(NotOpened("no_display", url))) as here:
        await here.says("Write open", "open")
        assert url in await here.reads("Write opened")
        here.writes("!cancel")
        assert (await here.decision()).answer == Cancelled()


@pytest.mark.shows("L5", "L12")
async def test_a_dangerous_link_cannot_be_opened() -> None:
    browser = Browser()
    async with talk(link_question("https://gіthub.com/login"), browser=browser) as here:  # a Cyrillic і
        said = await here.reads("This link is dangerous.")
        assert "encoded form of “gіthub.com”" in said
        await here.says("?, !decline", "open")
        await here.says("?, !decline", "!decline")
        assert (await here.decision()).answer == Declined()
        assert browser.opened == []


@pytest.mark.shows("L4")
async def test_while_the_person_is_in_the_browser_done_and_cancel_are_taken() -> None:
    async with talk(link_question(browsing=True)) as here:
        await here.says("Write done", "!decline")
        await here.says("Write done", "done")
        assert (await here.decision()).answer == Accepted(None)


@pytest.mark.shows("D8")
async def test_what_was_written_is_kept_for_other_desks() -> None:
    question = form_question(form=Form.by_hand(Text("a"), Text("b")))
    async with talk(question) as here:
        await here.says("Field 1 of 2", "one")
        await here.reads("Field 2 of 2")
        assert here.queue.draft(question.id) == {"a": "one", "b": ""}


@pytest.mark.shows("L4")
async def test_a_link_that_is_asked_for_again_can_be_opened_again_or_declined() -> None:
    async with talk(link_question(browsing=True, asked_again=True)) as here:
        await here.says("Write done", "?")
        await here.reads("It is the link that you agreed to before.")
        await here.says("Write done, open to open it again, or ?, !decline", "open")
        await here.says("It was opened again.", "!decline")
        assert (await here.decision()).answer == Declined()


async def test_our_own_words_are_not_called_the_servers() -> None:
    async with talk(form_question("Which folders may it know?", EMPTY, ours=True)) as here:
        came = await here.reads("Which folders may it know?")
        assert "Handraise’s own words:" in came
        assert "MESSAGE of" not in came
        assert "| Which" not in came


@pytest.mark.shows("W9b")
async def test_what_needs_a_passkey_is_not_accepted_in_lines_and_its_link_is_not_opened() -> None:
    browser = Browser()
    async with talk(
        form_question(form=EMPTY, passkey=True), link_question(passkey=True), browser=browser
    ) as here:
        await here.says("Write yes", "yes")
        await here.reads("This needs your passkey: answer at the web desk (`handraise inbox`).")
        await here.says("Write yes", "!decline")
        assert (await here.decision()).answer == Declined()
        await here.reads("This needs your passkey")
        await here.says("?, !decline", "open")
        await here.says("?, !decline", "!decline")
        assert (await here.decision(1)).answer == Declined()
    assert browser.opened == []


@pytest.mark.shows("D2f")
async def test_a_number_searches_a_long_list_until_its_options_were_listed() -> None:
    form = Form.by_hand(Choice("city", [f"City {number}" for number in range(2000)]))
    async with talk(form_question(form=form)) as here:
        await here.says("Write a word to search for.", "199")
        await here.says("12 options fit", "200")
        await here.says("1. City: City 199", "send")
        assert (await here.decision()).answer == Accepted({"city": "City 199"})


async def test_help_is_about_what_is_asked() -> None:
    async with talk(form_question("Go?", Form.by_hand(Flag("answer")))) as here:
        await here.says("Write yes or no", "?")
        said = await here.reads("lets notes ask no more")
        assert "!back" not in said


@pytest.mark.shows("L5")
async def test_where_no_browser_can_be_opened_one_word_answers_a_link() -> None:
    browser = Browser()
    async with talk(
        link_question("https://example.com/start"), browser=browser, hindered=lambda: "ssh"
    ) as here:
        await here.reads("open the link in the browser there")
        await here.says("Write opened", "opened")
        assert (await here.decision()).answer == Accepted(None)
        assert browser.opened == []
