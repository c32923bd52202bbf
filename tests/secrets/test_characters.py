"""One spelling for text that hides its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.forms import Form, Text
from handraise.secrets import judge_form
from handraise.secrets.characters import fold, lookalikes

ASKING = [
    "Password",
    "Kreditkartennummer",
    "Mot de passe",
    "Contraseña",
    "Пароль",
    "密码",
    "API key",
    "비밀번호",
    "รหัสผ่าน",
]
INVISIBLE = "\u200b\u200c\u200d\u2060\u00ad\ufeff\u200e\u202c\u2063\ufe0f\U000e0041\u034f\x00"
TO_CYRILLIC = str.maketrans("aeopcxyiAEOPCXTHKM", "аеорсхуіАЕОРСХТНКМ")


def asks(title: str) -> bool:
    return bool(judge_form("", Form.by_hand(Text("field", title=title))))


@pytest.mark.shows("S3")
@given(
    st.sampled_from(ASKING), st.lists(st.tuples(st.integers(0, 20), st.sampled_from(INVISIBLE)), max_size=12)
)
def test_a_secret_is_found_through_invisible_characters(
    title: str, insertions: list[tuple[int, str]]
) -> None:
    for place, character in insertions:
        title = title[:place] + character + title[place:]
    assert asks(title)


@pytest.mark.slow
@pytest.mark.shows("S3")
@given(st.sampled_from(["Password", "Passcode", "Contraseña", "API key", "Token", "Access token"]), st.data())
def test_a_secret_is_found_through_letters_of_another_script(title: str, data: st.DataObject) -> None:
    swapped = [data.draw(st.sampled_from([letter, letter.translate(TO_CYRILLIC)])) for letter in title]
    assert asks("".join(swapped))


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    "title",
    [
        "p a s s w o r d", "p.a.s.s.w.o.r.d", "P-A-S-S-W-O-R-D", "p_a_s_s_w_o_r_d", "P@ssw0rd", "pa$$word", "p4ssw0rd",
        "Passw0rd", "pass-word", "pass\u00adword", "Ｐａｓｓｗｏｒｄ", "𝗣𝗮𝘀𝘀𝘄𝗼𝗿𝗱", "ⓟⓐⓢⓢⓦⓞⓡⓓ", "ᴘᴀssᴡᴏʀᴅ", "🅿🅰🆂🆂🆆🅾🆁🅳",
        "p̶a̶s̶s̶w̶o̶r̶d̶", "Pаssword", "Passwοrd", "passvvord", "\u202edrowssap", "PASSWORD", "Пapoль", "密 码", "ﾊﾟｽﾜｰﾄﾞ",
        "п а р о л ь", "PÀSSWÖRD", "T0ken", "A P I  K e y",
    ],
)  # fmt: skip
def test_a_secret_is_found_through_spelling_tricks(title: str) -> None:
    assert asks(title)


@pytest.mark.parametrize(
    "title", ["Web3 site", "K8s cluster", "P2P port", "S3 bucket", "A1 notation", "C 3 P O", "a b c"]
)
def test_digits_and_single_letters_raise_no_alarm(title: str) -> None:
    assert not asks(title)


@pytest.mark.slow
@given(st.text())
def test_folding_twice_changes_nothing_more_for_the_reader(text: str) -> None:
    assert asks(text) == asks(fold(text))


@given(st.text(max_size=80))
def test_a_word_is_not_its_own_lookalike(word: str) -> None:
    assert word.casefold() not in list(lookalikes(word))


@pytest.mark.parametrize(
    ("letter", "plain"),
    [
        *(("Ḁ", "A"), ("ỹ", "y"), ("ἀ", "α"), ("ῼ", "Ω")),  # the ends of two blocks of letters with marks
        *(("é", "e"), ("й", "и"), ("ۓ", "ے")),
        *(("ƀ", "b"), ("Ɓ", "B"), ("ɏ", "y"), ("ƈ", "c")),  # a stroke or a hook is part of these
        *(("\u0300", ""), ("\u036f", ""), ("\u20d0", ""), ("\u20ff", ""), ("\u1ab0", ""), ("\ufe2f", "")),
        *(("가", "가"), ("か", "か"), ("ø", "o")),
    ],
)
def test_a_letter_with_marks_is_folded_to_the_plain_one(letter: str, plain: str) -> None:
    assert fold(letter) == plain
