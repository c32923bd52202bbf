"""What every desk shows, in the order in which it shows it."""

from __future__ import annotations

import pytest
from tests.desks.questions import form_question, link_question

from handraise.desks import Cause, lay_out
from handraise.display import UntrustedText
from handraise.urls import REASONS


@pytest.mark.shows("D1")
def test_who_asks_comes_from_the_configuration_and_the_claim_stands_apart() -> None:
    sheet = lay_out(form_question())
    assert (sheet.asker, sheet.target) == ("notes", "python notes.py")
    assert sheet.claim is not None
    assert str(sheet.claim) == "Notes Server 1.0"


@pytest.mark.shows("D1")
def test_the_tool_and_its_arguments_are_shown() -> None:
    sheet = lay_out(form_question())
    assert [str(line) for line in sheet.cause] == ['delete_note(title="Plans")']
    assert sheet.cause_is_certain
    unknown = Cause((("a", {}), ("b", {})), certain=False)
    assert not lay_out(form_question(cause=unknown)).cause_is_certain


@pytest.mark.shows("D3")
def test_what_is_sent_where_it_goes_and_what_declining_does_is_said() -> None:
    words = " ".join(lay_out(form_question()).consequences)
    assert "notes (python notes.py)" in words
    assert "model may see it" in words
    assert "Decline tells the server no." in words


@pytest.mark.shows("D3")
def test_of_a_link_is_said_what_opening_and_declining_it_mean() -> None:
    words = " ".join(lay_out(link_question()).consequences)
    assert "What you do there goes to that site, not through this program." in words
    assert "notes is told that you agreed to open it, and nothing else." in words
    assert "Decline tells the server no." in words


def test_text_of_the_server_stays_untrusted_until_a_desk_shows_it() -> None:
    sheet = lay_out(form_question("\x1b[2Jboo"))
    assert isinstance(sheet.message, UntrustedText)
    assert "\x1b" not in str(sheet.message)
    assert all(isinstance(field.label, UntrustedText) for field in sheet.fields)


@pytest.mark.shows("F7")
def test_fields_come_in_the_authors_order_with_hints_in_our_words() -> None:
    fields = {field.name: field for field in lay_out(form_question()).fields}
    assert list(fields)[:5] == ["name", "email", "site", "day", "count"]
    assert fields["name"].hint == "from 2 to 40 characters"
    assert fields["count"].hint == "a whole number from 1 to 10"
    assert fields["count"].suggested
    assert [option.value for option in fields["size"].options] == ["s", "m", "l"]


@pytest.mark.shows("L5")
def test_a_link_is_shown_with_what_is_odd_about_it() -> None:
    sheet = lay_out(link_question("https://gіthub.com/login"))  # a Cyrillic і
    assert sheet.link is not None
    assert sheet.link.verdict != "ok"
    assert sheet.warnings
    assert sheet.fields == ()


@pytest.mark.shows("L5")
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://xn--bcher-kva.example/", "punycode"),
        ("https://example.com:8443/", "odd_port"),
        ("http://example.com/", "insecure_http"),
    ],
)
def test_a_link_that_is_only_doubtful_is_warned_of_too(url: str, reason: str) -> None:
    assert lay_out(link_question(url)).warnings == (REASONS[reason].sentence,)


@pytest.mark.shows("L5")
def test_what_is_only_worth_knowing_about_a_link_is_no_warning() -> None:
    sheet = lay_out(link_question("https://bücher.example/"))
    assert sheet.warnings == ()
    assert sheet.notes == ("The name uses letters beyond a to z.",)
