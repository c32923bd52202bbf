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
