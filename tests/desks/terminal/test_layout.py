"""What can be read at 80x24 and 120x40, and what a hostile server can do about it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.desks.questions import form_question, link_question
from tests.desks.terminal.sitting import sitting
from tests.desks.web import samples

from handraise.desks import Cause
from handraise.forms import Choice, Flag, Form, Text
from handraise.questions import Accepted, Origin

HOSTILE = (
    "\x1b[2J\x1b[1;31mYour session ends\x1b]8;;https://evil.example\x07click\x1b]8;;\x07 \x9b31m\n"
    "\u202egnp.exe\u202c z\u200bero \U000e0041 <b>bold</b> [bold red]x[/] [@click=app.exit]y[/]\n"
    " Send  F5  Decline  F3  Cancel  Esc  More  F4\n"
    "handraise: question of notes: accepted\n"
    "Press F5 to continue: yes\n"
) + "A" * 5000
SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40)])


@SIZES
@pytest.mark.shows("D1", "D2", "D2b", "D3", "D10")
async def test_the_question_comes_first_and_who_asks_and_every_key_are_always_in_sight(
    size: tuple[int, int],
) -> None:
    async with sitting(form_question("Please tell me."), size=size) as here:
        screen = here.screen()
        lines = screen.split("\n")
        assert len(lines) == size[1]
        assert lines[1] == " █ Please tell me."
        assert lines[-3].startswith(" notes asks, to run delete_note")
        assert "Your name  from 2 to 40 characters" in screen
        assert "Field 1 of 9" in lines[-2]
        assert lines[-1] == "  Send  F5  Decline  F3  Cancel  Esc  More  F4"
        for _ in range(9):
            await here.press("tab")
            now = here.screen().split("\n")
            assert now[1] == " █ Please tell me."
            assert now[-3].startswith(" notes asks, to run delete_note")
            assert now[-1] == lines[-1]
        await here.press("f9")
        await here.sees(
            "python notes.py",
            "Notes Server 1.0",
            'delete_note(title="Plans")',
            "Your answer goes to notes.",
            "Decline tells notes that you do not answer.",
        )


@SIZES
@pytest.mark.shows("D7", "D1")
async def test_a_hostile_message_stays_inside_its_frame(size: tuple[int, int]) -> None:
    async with sitting(form_question(HOSTILE), size=size) as here:
        screen = here.screen()
        _nothing_hidden(screen)
        lines = screen.split("\n")
        assert lines[-3].startswith(" notes asks")
        assert lines[-1] == "  Send  F5  Decline  F3  Cancel  Esc  More  F4"
        for words in (
            "⟨U+001B⟩[2J",
            "⟨U+202E⟩gnp.exe",
            "<b>bold</b>",
            "[bold red]x[/]",
            "Press F5",
            "handraise:",
        ):
            assert all(line.startswith(" █ ") for line in lines[:-1] if words in line)
            assert any(words in line for line in lines)
        await here.sees("there is more to read")
        _nothing_hidden(here.screen())


async def test_a_confirmation_of_fourteen_lines_is_seen_whole_at_80x24() -> None:
    message = "\n".join(f"line {number}" for number in range(14))
    async with sitting(form_question(message, form=Form.by_hand(Flag("answer")))) as here:
        screen = await here.sees("line 13")
        assert "there is more to read" not in screen
        assert "Yes  y" in screen


@pytest.mark.shows("D7", "D2f")
async def test_a_message_of_20_kb_can_be_read_to_its_end_beside_the_fields() -> None:
    async with sitting(
        form_question("read on " * 2500 + "THE END", form=Form.by_hand(Flag("answer")))
    ) as here:
        screen = await here.sees("there is more to read")
        assert "Yes  y" in screen
        for _ in range(60):
            await here.press("pagedown")
            if "THE END" in here.screen():
                break
        await here.sees("THE END")
        await here.press("pagedown")
        assert "there is more to read" not in here.screen()


@pytest.mark.shows("D7")
async def test_every_text_of_the_server_is_inert() -> None:
    evil = "\x1b[31m\u202eevil\u200b[b]\n"
    form = Form.by_hand(
        Text("a" + evil, title=evil, description=evil, default=evil.strip("\n")),
        Choice("b", {"x" + evil: evil, "y": "plain"}, description=evil),
    )
    question = form_question(
        evil,
        form,
        origin=Origin("notes", "python notes.py", evil, evil),
        cause=Cause((("t" + evil, {"a": evil}),)),
        warnings=("Odd: " + evil,),
    )
    async with sitting(question, size=(100, 50)) as here:
        _nothing_hidden(here.screen())
        assert "It has characters that cannot be seen." in here.screen()
        await here.press("tab", "space", "f9")
        await here.sees("Asked by")
        _nothing_hidden(here.screen())
        await here.press("f5")
        answer = (await here.decision()).answer
    assert isinstance(answer, Accepted)  # shown inert, sent as it is
    assert answer.data == {"a" + evil: evil.strip("\n"), "b": "x" + evil}


@pytest.mark.shows("D3")
async def test_a_long_title_of_a_field_or_an_option_never_reaches_our_own_column() -> None:
    title = "Forged " * 20
    form = Form.by_hand(Choice("a", {"x": title, "y": "Y"}, title=title))
    async with sitting(form_question(form=form)) as here:
        screen = await here.sees("Forged")
        assert sum("Forged" in line for line in screen.split("\n")) > 2
        assert not [line for line in screen.split("\n") if line.startswith((" Forged", "Forged"))]
        assert "\n › Forged" in screen


@pytest.mark.shows("D1")
async def test_an_unknown_cause_is_called_unknown() -> None:
    unknown = Cause((("a", {"x": 1}), ("b", {})), certain=False)
    async with sitting(form_question(cause=unknown)) as here:
        await here.sees("notes asks; it is not known for which call")
        await here.press("f9")
        await here.sees("One of these calls; it is not known which.", "a(x=1)", "b()")
    async with sitting(form_question(cause=None)) as here:
        await here.press("f9")
        await here.sees("It is not known which call asks.")


@pytest.mark.shows("D10")
async def test_warnings_are_words_and_not_colours() -> None:
    question = link_question("http://login.example.co.uk:8080/a")
    async with sitting(question) as here:
        await here.sees("⚠  The connection is not encrypted", "⚠  It uses an unusual port.")


@pytest.mark.shows("D10")
async def test_no_color_leaves_no_colour_and_every_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with sitting(form_question(form=Form.by_hand(Text("name", min_length=2)))) as here:
        await here.press("A")
        await here.sees("✗ Enter at least 2 characters.", "› Name")
        strips = [list(strip) for strip in here.app.screen._compositor.render_strips()]
        for filter_ in here.app._filters:
            if filter_.enabled:
                background = here.app.screen.background_colors[1]
                strips = [filter_.apply(strip, background) for strip in strips]
        styles = [segment.style for strip in strips for segment in strip if segment.style is not None]
        assert styles
        assert all(style.color is None or style.color.is_default for style in styles)
        assert all(style.bgcolor is None or style.bgcolor.is_default for style in styles)


def _nothing_hidden(screen: str) -> None:
    assert not set("\x1b\x07\x9b\u202e\u202c\u200b\U000e0041") & set(screen)


async def test_the_pictures_of_the_documentation(tmp_path: Path) -> None:
    folder = Path(os.environ.get("HANDRAISE_PICTURES") or tmp_path)
    shots = {
        "terminal-confirm": [samples.confirm()],
        "terminal-form": [samples.form()],
        "terminal-batch": list(samples.batch()),
        "terminal-link": [samples.homograph()],
    }
    for name, questions in shots.items():
        async with sitting(*questions) as here:
            await here.settle()
            (folder / f"{name}.svg").write_text(here.app.export_screenshot(title="handraise"))
    assert "Delete 47 files" in (folder / "terminal-confirm.svg").read_text().replace("&#160;", " ")
