"""The person's language: the desk's own words, and numbers and dates as people write them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.access import REFUSALS
from handraise.desks.fill import read_field
from handraise.desks.language import (
    AMERICAN,
    ENGLISH,
    GERMAN,
    Language,
    language_of_browser,
    language_of_terminal,
)
from handraise.desks.passkeys import INSTALL
from handraise.desks.web import site as web
from handraise.forms import Integer, Number, Text
from handraise.forms.formats import FORMATS, Format
from handraise.gateway import shared_desk as shared
from handraise.pages import site as pages
from handraise.pages.oauth import account, sign_in
from handraise.secrets.finding import CALLED
from handraise.urls import HINDRANCES, REASONS


@pytest.mark.parametrize(
    ("language", "typed", "number"),
    [
        (ENGLISH, "12.5", 12.5),
        (ENGLISH, "12,5", 12.5),
        (ENGLISH, "1,234", 1234),
        (ENGLISH, "1,234.5", 1234.5),
        (ENGLISH, "1.234,5", 1234.5),
        (ENGLISH, "-3", -3),
        (ENGLISH, "−3", -3),
        (ENGLISH, "1 000 000", 1_000_000),
        (ENGLISH, "1e3", 1000.0),
        (GERMAN, "12,5", 12.5),
        (GERMAN, "1.234", 1234),
        (GERMAN, "12.5", 12.5),
        (GERMAN, "1.234.567,89", 1234567.89),
        (GERMAN, "1’000", 1000),
        (GERMAN, "٣", 3),
    ],
)
def test_a_number_is_read_as_people_write_it(language: Language, typed: str, number: float) -> None:
    assert language.read_number(typed) == number


@pytest.mark.parametrize(
    "typed", ["", "x", "1,2,3", "1.2.3,4", "1,23,456", "--1", "nan", "inf", "1e999", "0x3", "1_0", "."]
)
@pytest.mark.parametrize("language", [ENGLISH, GERMAN])
def test_what_is_no_number_is_refused(language: Language, typed: str) -> None:
    with pytest.raises(ValueError):
        language.read_number(typed)


@given(
    st.integers(-(10**12), 10**12) | st.floats(-1e9, 1e9), st.sampled_from([ENGLISH, GERMAN]), st.booleans()
)
def test_a_number_that_is_written_can_be_read_again(number: float, language: Language, grouped: bool) -> None:
    written = language.number(number, grouped=grouped)
    if "e" not in written and (not grouped or abs(number) >= 1000 or isinstance(number, int)):
        assert language.read_number(written) == number


@pytest.mark.parametrize(
    ("language", "typed"),
    [
        (ENGLISH, "2026-07-28"),
        (ENGLISH, "28/7/2026"),
        (ENGLISH, "28 July 2026"),
        (ENGLISH, "July 28, 2026"),
        (ENGLISH, "Tuesday, 28 July 2026"),
        (AMERICAN, "7/28/2026"),
        (GERMAN, "28.7.2026"),
        (GERMAN, "28. Juli 2026"),
        (GERMAN, "28.07.2026"),
    ],
)
def test_a_date_is_read_as_people_write_it(language: Language, typed: str) -> None:
    assert language.read_date(typed) == date(2026, 7, 28)


@pytest.mark.parametrize("typed", ["", "soon", "28", "28.7.26", "31.2.2026", "2026-13-01", "July 2026"])
def test_what_is_no_date_is_refused(typed: str) -> None:
    with pytest.raises(ValueError):
        ENGLISH.read_date(typed)


def test_a_moment_without_an_offset_is_in_the_zone_of_the_person() -> None:
    zone = timezone(timedelta(hours=2))
    assert ENGLISH.read_moment("2026-07-28T14:30", zone) == datetime(2026, 7, 28, 14, 30, tzinfo=zone)
    assert GERMAN.read_moment("28.7.2026 14:30 Uhr", zone) == datetime(2026, 7, 28, 14, 30, tzinfo=zone)
    assert ENGLISH.read_moment("2026-07-28T14:30:00Z", zone) == datetime(2026, 7, 28, 14, 30, tzinfo=UTC)
    assert (
        ENGLISH.moment(datetime(2026, 7, 28, 14, 30, tzinfo=zone))
        == "Tuesday, 28 July 2026, 14:30 (UTC+02:00)"
    )


def test_dates_are_said_with_their_day_of_the_week() -> None:
    assert ENGLISH.day(date(2026, 7, 28)) == "Tuesday, 28 July 2026"
    assert GERMAN.day(date(2026, 7, 28)) == "Dienstag, 28. Juli 2026"


def test_how_something_was_read_is_said_only_where_it_was_typed_otherwise() -> None:
    assert read_field(Number("n"), "12,5", GERMAN) == ("12.5", "")
    assert read_field(Number("n"), "12,5", ENGLISH) == ("12.5", "12.5")
    assert read_field(Integer("n"), "1.000", GERMAN) == ("1000", "1.000")
    assert read_field(Text("d", format="date"), "28.7.2026", GERMAN) == (
        "2026-07-28",
        "Dienstag, 28. Juli 2026",
    )
    assert read_field(Text("d", format="date"), "2026-07-28", GERMAN) == ("2026-07-28", "")
    assert read_field(Text("t"), "12,5", GERMAN) == ("12,5", "")


@pytest.mark.parametrize(
    ("accept", "language"),
    [
        ("", ENGLISH),
        ("de-AT,de;q=0.9,en;q=0.5", GERMAN),
        ("fr, de;q=0.3, en;q=0.8", ENGLISH),
        ("en-US,en", AMERICAN),
        ("fr;q=x, *", ENGLISH),
        ("zz" * 10_000, ENGLISH),
    ],
)
def test_a_browser_says_its_language(accept: str, language: Language) -> None:
    assert language_of_browser(accept) == language


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, ENGLISH),
        ({"LANG": "de_DE.UTF-8"}, GERMAN),
        ({"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, ENGLISH),
        ({"LANG": "en_US.UTF-8"}, AMERICAN),
    ],
)
def test_a_terminal_says_its_language_by_its_locale(environment: dict[str, str], language: Language) -> None:
    assert language_of_terminal(environment) == language


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("No rule allows it.", "Keine Regel erlaubt es."),
        ("The field 'key' asks for an API key.", "Das Feld 'key' verlangt einen API-Schlüssel."),
        (
            "This holds an API key of OpenAI.",
            "Das enthält einen API-Schlüssel von OpenAI.",
        ),
        (
            "3 questions of notes wait for an answer already.",
            "3 Fragen von notes warten schon auf eine Antwort.",
        ),
        ("A person said no with a passkey", "Ein Mensch hat Nein gesagt, mit Passkey"),
        ("My own rule says so.", "My own rule says so."),
    ],
)
def test_sentences_of_other_packages_are_translated(english: str, german: str) -> None:
    assert GERMAN.sentence(english) == german
    assert ENGLISH.sentence(english) == english


def test_every_reason_of_a_link_every_kind_of_secret_and_every_refusal_has_its_german() -> None:
    sentences = [reason.sentence for reason in REASONS.values()]
    sentences += [*HINDRANCES.values(), *CALLED.values()]
    sentences += [REFUSALS[known] for known in ("another_user", "client")]
    sentences += [INSTALL, web.ADD_FIRST, shared.ADD_FIRST, shared.ASK_FOR_LINK, pages.NOTHING, pages.STALE]
    sentences += [sign_in.NOTHING, sign_in.ELSEWHERE, sign_in.NOBODY, sign_in.NOT_NOW, account.ELSEWHERE]
    assert [each for each in sentences if GERMAN.sentence(each) == each] == []


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("language", [ENGLISH, GERMAN])
def test_every_text_format_has_its_words(format_: Format, language: Language) -> None:
    assert language(f"problem_{format_}")
    assert not FORMATS[format_].needs_hint or language(f"hint_{format_}")


@pytest.mark.parametrize("package", ["handraise.desks.web", "handraise.pages"])
def test_every_text_of_a_template_comes_from_the_catalogue(package: str) -> None:
    for template in files(package).joinpath("templates").iterdir():
        code = re.compile(r"{% block data %}.*?{% endblock %}|{#.*?#}|{%.*?%}|{{.*?}}", re.S)
        text = re.sub(r'<[^>]*>|[\w-]+="[^"]*"', " ", code.sub("", template.read_text(encoding="utf-8")))
        assert re.findall(r"[A-Za-z]{2,}", text) == [], template.name


def test_a_number_inside_a_sentence_is_written_as_the_person_writes_it() -> None:
    assert GERMAN.sentence("1,234,567 rows") == "1.234.567 Zeilen"
    assert GERMAN.sentence("Delete all rows") == "Delete all rows", "not a count: the author's own words"


def test_numbers_and_dates_of_a_terminal_may_be_of_another_locale_than_its_words() -> None:
    mixed = language_of_terminal(
        {"LANG": "en_US.UTF-8", "LC_NUMERIC": "de_DE.UTF-8", "LC_TIME": "de_AT.UTF-8"}
    )
    assert (mixed.code, mixed.decimal, mixed.group) == ("en", ",", ".")
    assert (mixed.dates, mixed.month_first) == ("%d.%m.%Y", False)
    assert (
        language_of_terminal({"LC_ALL": "de_DE.UTF-8", "LC_NUMERIC": "en_US", "LC_TIME": "en_US"}) == GERMAN
    )
    assert language_of_terminal({"LANG": "de_DE.UTF-8", "LC_NUMERIC": "C"}) == GERMAN
