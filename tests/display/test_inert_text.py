"""Text from a server shows everything that is in it, and does nothing."""

from __future__ import annotations

import sys
import unicodedata
from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handraise.display import inert

HOSTILE = st.text(
    st.sampled_from(
        "\x1b\x07\x9b\r\n\t\u202e\u2066\u200b\u200d\u200c\ufe0f\ufeff\U000e0041\u0301\u0489⟨⟩a<é👩क्ن "
    )
    | st.characters(),
    max_size=60,
)
ALLOWED_WHEN_NEEDED = "\u200c\u200d\ufe0e\ufe0f"


def dangerous(character: str) -> bool:
    if character == "\n" or character in ALLOWED_WHEN_NEEDED:
        return False
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


@pytest.mark.shows("D7")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "⟨U+001B⟩[31mred⟨U+001B⟩[0m"),
        ("\x1b]8;;https://evil.example\x07click\x1b]8;;\x07", None),
        ("\x1b]52;c;aGk=\x07", None),
        ("\x9b31m", "⟨U+009B⟩31m"),
        ("safe\rEVIL", "safe⟨U+000D⟩EVIL"),
        ("a\x08b", "a⟨U+0008⟩b"),
        ("file\u202egnp.exe", "file⟨U+202E⟩gnp.exe"),
        ("\u2067x\u2069", "⟨U+2067⟩x⟨U+2069⟩"),
        ("a\u200bb\u00adc\ufeffd", "a⟨U+200B⟩b⟨U+00AD⟩c⟨U+FEFF⟩d"),
        ("x\u2062y\u034fz\u3164", "x⟨U+2062⟩y⟨U+034F⟩z⟨U+3164⟩"),
        ("hi\U000e0068\U000e0069", "hi⟨U+E0068⟩⟨U+E0069⟩"),
        ("\ufff9a\ufffab\ufffb", "⟨U+FFF9⟩a⟨U+FFFA⟩b⟨U+FFFB⟩"),
        ("a\ufe00b\U000e0100", "a⟨U+FE00⟩b⟨U+E0100⟩"),
        ("\ue000\uffff\ud800\u0378", "⟨U+E000⟩⟨U+FFFF⟩⟨U+D800⟩⟨U+0378⟩"),
        ("\u2028x\u2029", "⟨U+2028⟩x⟨U+2029⟩"),
        ("\u2800", "⟨U+2800⟩"),
        ("\x00\x00\x00", "⟨U+0000 ×3⟩"),
    ],
)
def test_what_cannot_be_seen_or_moves_the_text_is_written_out(text: str, shown: str | None) -> None:
    result = inert(text)
    assert not any(map(dangerous, result))
    if shown is not None:
        assert result == shown


@pytest.mark.parametrize(
    "text",
    [
        "Plain words, 100% of them: <b>not</b> [a](link).",
        "two\nlines",
        "Grüße, naïve façade; Tiếng Việt",
        "日本語とひらがな、中文，한국어",
        "العربية شَدَّة",
        "נִקּוּד עִבְרִי",
        "हिन्दी क्षत्रिय",
        "ภาษาไทย ที่นี่",
        "نمی\u200cخواهم",
        "क्\u200dष र्\u200dय",
        "ශ්\u200dරී ලංකා",
        "👩\u200d💻 👨\u200d👩\u200d👧 👩🏽\u200d💻 ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈",
        "1\ufe0f\u20e3 ™\ufe0f ☎\ufe0f ☎\ufe0e",
        "≤ ≠ ∑ € £ § “quoted” – dash…",
    ],
)
def test_honest_writing_stays_as_it_is(text: str) -> None:
    assert inert(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "a\u200db",
        "a\u200cb",
        "\u200dx",
        "x\u200d",
        "a\ufe0f",
        "1\ufe0f",
        "👩\u200d",
        "\u200d👩",
        "م\u200d",
        "م\u200cx",
    ],
)
def test_a_joiner_is_written_out_where_no_writing_needs_it(text: str) -> None:
    assert "⟨U+" in inert(text)


@pytest.mark.shows("D7")
def test_nobody_can_forge_what_we_write_out() -> None:
    assert inert("⟨U+202E⟩") == "⟨U+27E8⟩U+202E⟨U+27E9⟩"
    assert inert("⟨+5 characters⟩").count("⟨") == 2


@given(HOSTILE)
def test_every_bracket_in_the_result_is_ours(text: str) -> None:
    import re

    rest = re.sub(r"⟨(?:U\+[0-9A-F]{4,6}(?: ×\d+)?|\+\d+ characters)⟩", "", inert(text, limit=40))
    assert "⟨" not in rest
    assert "⟩" not in rest


def test_piled_up_marks_are_capped() -> None:
    assert inert("e" + "\u0301" * 1000) == "e" + "\u0301" * 4 + "⟨U+0301 ×996⟩"
    assert inert("क" + "\u094d\u200d" * 9).startswith("क\u094d\u200d\u094d\u200d⟨U+094D⟩")
    assert inert("e\u0300\u0301\u0302\u0303\u0304x") == "e\u0300\u0301\u0302\u0303⟨U+0304⟩x"


@pytest.mark.parametrize("text", ["\u0301x", "a\n\u0301", "a \u0301", "\u200b\u0301"])
def test_a_mark_without_a_letter_of_its_own_cannot_reach_ours(text: str) -> None:
    assert "⟨U+0301⟩" in inert(text)


def test_nothing_is_pushed_out_of_sight() -> None:
    assert inert("a" + "\n" * 500 + "b") == "a\n\n⟨U+000A ×498⟩b"
    assert inert("a" + " " * 500 + "b") == "a        ⟨U+0020 ×492⟩b"


def test_spaces_and_line_ends_become_the_ordinary_ones() -> None:
    assert inert("a\tb\u00a0c\u3000d\r\ne") == "a    b c d\ne"


def test_long_text_is_cut_and_says_how_much_is_missing() -> None:
    assert inert("x" * 2500) == "x" * 2000 + "⟨+500 characters⟩"
    assert inert("ab\u202ecd", limit=5) == "ab⟨+3 characters⟩"
    assert inert("abc", limit=0) == "⟨+3 characters⟩"


@pytest.mark.shows("D7")
@given(HOSTILE)
@example("".join(map(chr, range(0x500))))
def test_nothing_dangerous_ever_comes_out_and_nothing_is_lost(text: str) -> None:
    shown = inert(text)
    assert not any(map(dangerous, shown))
    for character in set(text) - set("\r\t"):
        if unicodedata.category(character) != "Zs" and len(text) < 100:
            assert character in shown or f"U+{ord(character):04X}" in shown


@pytest.mark.slow
def test_no_single_character_comes_out_dangerous() -> None:
    text = "".join(f"a{chr(number)}" for number in range(sys.maxunicode + 1))
    assert not any(map(dangerous, inert(text, limit=10 * len(text))))


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", "\u202e", "\u0301", "a\u0301\u200b", "\n", "👩\u200d", "\u200b\u200c"])
def test_it_takes_linear_time(unit: str) -> None:
    def seconds(times: int) -> float:
        text = unit * times
        started = process_time()
        inert(text, limit=10**9)
        return process_time() - started

    seconds(1000)
    assert seconds(40_000) < 40 * max(seconds(4_000), 0.001)
