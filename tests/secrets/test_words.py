"""Words where writing hides them."""

from __future__ import annotations

import pytest

from handraise.secrets.lexicon import UNKNOWN_HEAD
from handraise.secrets.reading import read
from handraise.secrets.words import _known, _recognise, clauses, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("clientSecretName", ("client", "secret", "name")),
        ("db_passwd", ("db", "passwd")),
        ("APIKeyName", ("api", "key", "name")),
        ("passwordRepeat2", ("password", "repeat", "2")),
        ("x-api-key", ("x", "api", "key")),
        ("Passwortlänge", ("passwort", UNKNOWN_HEAD, "lange")),
        ("Passwortschutzgebiet", ("passwort", UNKNOWN_HEAD)),
        ("Datenbankpasswort", ("datenbank", "passwort")),
        ("salasanakäytäntö", ("salasan", UNKNOWN_HEAD)),
        ("APIキー", ("api", "キー")),
        ("密码长度", ("密码", "长度")),
        ("والقطار", ("والقطار",)),
        ("وكلمة", ("و", "كلمه")),
        ("הסיסמה", ("סיסמה",)),
    ],
)  # fmt: skip
def test_words_are_found_inside_other_words(text: str, words: tuple[str, ...]) -> None:
    [clause] = clauses(text)
    assert clause.words == words


def test_a_full_stop_ends_a_clause_and_a_comma_continues_it() -> None:
    found = [clause.continues for clause in clauses("Never share it, ever. Enter v1.2 (or later)")]
    assert found == [False, True, False, True]


def test_a_dash_after_a_blank_ends_a_clause_and_one_within_a_word_does_not() -> None:
    assert [clause.words for clause in clauses("Reset - new password")] == [("reset",), ("new", "password")]
    assert [clause.words for clause in clauses("Reset-new password")] == [("reset", "new", "password")]


def test_an_abbreviation_is_not_the_end_of_a_clause() -> None:
    assert len(list(clauses("Nr. karty"))) == 1
    assert len(list(clauses("Card No. please"))) == 1


def test_a_word_that_nobody_can_read_is_left_as_it_is() -> None:
    [word] = words_of("x" * 500 + "password")
    assert word.text == "x" * 500 + "password"


@pytest.mark.slow
@pytest.mark.parametrize("word", ["x" * 100_000, "字" * 100_000, "密码" * 50_000, "p@" * 50_000])
def test_hostile_words_are_not_remembered(word: str) -> None:
    before = _recognise.cache_info().currsize, _known.cache_info().currsize
    read(word)
    assert (_recognise.cache_info().currsize, _known.cache_info().currsize) <= (before[0], before[1] + 2)
