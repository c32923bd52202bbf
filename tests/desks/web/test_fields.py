"""The fields of a form in a browser: how each is shown, and what a page that was posted means."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from handraise.desks.fill import Entry
from handraise.desks.language import ENGLISH, GERMAN
from handraise.desks.present import LONG_TEXT, present_fields
from handraise.desks.web.fields import FieldView, read_entries, view_fields
from handraise.forms import Choice, Choices, Field, Flag, Form, Integer, Option, Text

DATE = date(2026, 11, 16)
DAY = Text("day", format="date")
COUNT = Integer("count", required=False)
SIZE = Choice("size", ["s", "m", ""])
TAGS = Choices("tags", ["a", "b", "c"], required=False)


def view(field: Field, entry: Entry = "", **how: Any) -> FieldView:
    """A field with this in it, as a browser shows it."""
    form = Form.by_hand(field)
    language = how.get("language", ENGLISH)
    shown = present_fields(form, language)
    (only,) = view_fields(form, shown, {field.name: entry}, None, **how)
    return only


@pytest.mark.shows("D2")
def test_how_an_entry_was_read_is_said_and_a_date_also_when_it_is_picked() -> None:
    assert view(DAY, "2026-11-16").spoken == ENGLISH.day(DATE)
    assert view(DAY, "2026-11-16", language=GERMAN).spoken == GERMAN.day(DATE)
    assert view(DAY, "2026-11-16", read_as={"day": "as typed"}).spoken == "as typed"
    assert view(COUNT, "1000", read_as={"count": "1,000"}).spoken == "1,000"
    assert view(COUNT, "1000", read_as={"other": "1,000"}).spoken == ""
    assert view(COUNT, "1000").spoken == ""
    assert view(DAY, "no date").spoken == ""


@pytest.mark.shows("F4")
@pytest.mark.parametrize(
    ("field", "posted", "entry"),
    [
        (DAY, [], ""),
        (DAY, ["2026-11-16"], "2026-11-16"),
        (Text("note"), ["a\r\nb\nc"], "a\nb\nc"),
        (Flag("yes"), ["yes"], "yes"),
        (Flag("yes"), ["no"], "no"),
        (Flag("yes"), ["on"], ""),
        (Flag("yes"), [], ""),
        (SIZE, ["0"], "s"),
        (SIZE, ["1", "0"], "m"),
        (SIZE, ["2"], [""]),  # the empty text is an option here
        (SIZE, ["3"], ""),
        (SIZE, ["-1"], ""),
        (SIZE, ["s"], ""),
        (SIZE, ["\u0661"], ""),  # a digit, and not one of ours
        (SIZE, ["000001"], ""),
        (SIZE, ["00001"], "m"),
        (SIZE, [], ""),
        (TAGS, ["0", "2"], ["a", "c"]),
        (TAGS, ["0", "7", "none"], ["a"]),
        (TAGS, ["none"], []),
        (TAGS, [], ""),
        (TAGS, ["7"], ""),
    ],
)
def test_what_a_page_posts_is_read_as_an_entry(field: Field, posted: list[str], entry: Entry) -> None:
    form = Form.by_hand(Text("before"), field)
    assert read_entries(form, {"f1": posted}) == {"before": "", field.name: entry}
    assert read_entries(form, {"q7-1": posted}, "q7-")[field.name] == entry


def test_options_have_numbers_and_the_chosen_ones_are_marked() -> None:
    size = Choice("size", [Option("s", "Small"), Option("m", "Medium")])
    assert [(each.number, each.checked) for each in view(size, "m").options] == [("0", False), ("1", True)]
    assert [each.checked for each in view(TAGS, ["a", "c"]).options] == [True, False, True]
    assert not any(each.checked for each in view(TAGS).options)
    assert (view(TAGS, []).is_none, view(TAGS).is_none) == (True, False)
    flag = view(Flag("share"), "no")
    assert [(each.number, each.checked) for each in flag.options] == [("yes", False), ("no", True)]


@pytest.mark.parametrize(
    ("field", "entry", "control"),
    [
        (DAY, "", "date"),
        (DAY, "2026-11-16", "date"),
        (DAY, "20261116", "text"),  # a browser would drop it
        (DAY, "soon", "text"),
        (Text("at", format="date-time"), "", "datetime-local"),
        (Text("at", format="date-time"), "2026-11-16T10:00:00Z", "text"),
        (Text("note"), "", "text"),
    ],
)
def test_a_control_of_the_browser_is_used_only_where_it_shows_what_is_there(
    field: Field, entry: str, control: str
) -> None:
    assert view(field, entry).input == control


@pytest.mark.shows("D7")
def test_what_cannot_be_seen_in_a_text_is_written_out() -> None:
    assert view(Text("note"), "plain text").unseen is None
    hidden = view(Text("note"), "pay\u200bpal")
    assert str(hidden.unseen) == "pay⟨U+200B⟩pal"
    assert "unseen" in hidden.described_by
    assert view(Choice("one", ["a\u200b"]), "a\u200b").unseen is None, "an option is shown as it is"


def test_what_is_wrong_comes_first_for_a_screen_reader() -> None:
    assert view(Text("note", max_length=9)).described_by == "f0-hint f0-read"
    assert view(SIZE).described_by == ""
    assert view(Text("note", description="Why?", max_length=9)).described_by == "f0-about f0-hint f0-read"


def test_a_text_of_several_lines_or_many_words_has_room() -> None:
    note = Text("note", max_length=60)
    assert not view(note, "x" * LONG_TEXT).is_long
    assert view(note, "x" * (LONG_TEXT + 1)).is_long
    assert view(note, "a\nb").is_long
    assert not view(DAY, "2026-11-16\n").is_long
    assert view(note, "as it is").text == "as it is"
    assert view(TAGS, ["a"]).text == ""
    assert view(Text("n"), "y" * 20_000 + "\u200b").unseen is not None


def test_a_moment_is_shown_in_the_zone_of_the_person_unless_it_is_the_servers_suggestion() -> None:
    zones = {"2026-11-16T10:00:00Z": "2026-11-16T11:00", "2026-11-17T10:00:00Z": "2026-11-17T11:00"}
    at = Text("at", format="date-time", default="2026-11-16T10:00:00Z")

    def in_zone(entry: Entry) -> str:
        return zones.get(str(entry), "")

    moved = view(at, "2026-11-17T10:00:00Z", in_zone=in_zone)
    assert (moved.text, moved.input, moved.suggestion_stands) == ("2026-11-17T11:00", "datetime-local", False)
    stands = view(at, "2026-11-16T10:00:00Z", in_zone=in_zone)
    assert (stands.input, stands.suggestion_stands) == ("text", True)
    assert view(at, "2026-11-17T10:00:00Z").input == "text", "no browser said which zone"
    assert view(Text("note"), "2026-11-17T10:00:00Z", in_zone=in_zone).input == "text"
