"""Words that a person can read and a list of words does not know."""

from __future__ import annotations

import pytest

from handraise.forms import Form, Text
from handraise.secrets import judge_form
from handraise.secrets.disguises import decoded, put_together
from handraise.secrets.words import words_of


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    "title",
    [
        "p/a/s/s/w/o/r/d",
        "p·a·s·s·w·o·r·d",
        "pa ss wo rd",
        "drowssap",
        "pɹoʍssɐd",
        "p*ssw*rd",
        "p___word",
        "Passwrod",
        "passsword",
        "cGFzc3dvcmQ=",
        "&#112;assword",
        "%70assword",
        r"\u0070assword",
        "cnffjbeq",
        "papa alpha sierra sierra whiskey oscar romeo delta",
        "|>assword",
        "ipa yek",
        "yek etavirp",
        "ʎǝʞ ǝʇɐʌᴉɹd",
        "sswordpa",
        "Ƥαѕѕωσя∂",
        "privat3 k3y",
        "pswrd",
        ".--. .- ... ... .-- --- .-. -..",
        "Glcr lbhe frrq cuenfr",
    ],
)
def test_a_disguised_word_is_found(title: str) -> None:
    assert judge_form("", Form.by_hand(Text("value", title=title))), decoded(title)


@pytest.mark.parametrize(
    "disguised",
    [
        r"\u0070assword",
        r"\u{70}assword",
        r"\x70assword",
        "&#112;assword",
        "&#x70;assword",
        "pass&shy;word",
        "pass<b>word</b>",
        "%70%61%73%73word",
        "[p][a][s][s][w][o][r][d]",
        "|>assw()r|)",
        "pass\\/\\/ord",
        "p*ssw*rd",
        "p••••ord",
        "70 61 73 73 77 6f 72 64",
        "70:61:73:73:77:6F:72:64",
        "0x70, 0x61, 0x73, 0x73, 0x77, 0x6f, 0x72, 0x64",
        "112 97 115 115 119 111 114 100",
        "pass/word",
        "p;a;s;s;w;o;r;d",
    ],
)
def test_codes_for_characters_and_signs_between_letters_are_undone(disguised: str) -> None:
    assert decoded(disguised) == "password"
    assert decoded(f"Your {disguised}") == "Your password"


@pytest.mark.parametrize(
    "text", ["12 34 56 78 90 12", "AT&T", r"C:\users", "100%", "(a) or (b)", "and/or", "1 < 2", "C*"]
)
def test_other_codes_and_signs_stay(text: str) -> None:
    assert decoded(text) == text


@pytest.mark.parametrize(
    "title",
    [
        "Passford Road",
        "emordnilap",
        "U S A",
        "a/b/c",
        "alpha bravo charlie",
        "bXkgbm90ZQ==",
        "C*",
        ". . . -",
        "xq zzt qqw",
    ],
)
def test_harmless_words_raise_no_alarm(title: str) -> None:
    assert not judge_form("", Form.by_hand(Text("value", title=title)))


def test_known_words_are_not_joined() -> None:
    assert put_together(("digits", "of", "your", "card")) == ("digits", "of", "your", "card")


def test_a_word_that_initials_spell_is_read() -> None:
    assert words_of("People Always Say Secrets Will Only Remain Dark")[-1].text == "password"
    assert words_of("People always say that sunny weather makes cities bright")[-1].text == "bright"
