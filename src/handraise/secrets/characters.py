"""One spelling for text that was written to be read by people and missed by machines.

The tricks this undoes: invisible characters between letters, full-width and mathematical letters,
accents, letters of another script that look the same, digits and signs instead of letters, text
that is only in order when it is read from right to left, and letters with spaces between them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u0640\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_REVERSED: Final = re.compile("\u202e([^\u202c\u2069\n]*)")
_LETTER: Final = r"[^\W_]"
_BETWEEN: Final = r" ._*+~^=\[\](){{}}'`\"-"
_SPACED_OUT: Final = re.compile(
    rf"(?<!{_LETTER}){_LETTER}(?:[{_BETWEEN}]{{1,3}}{_LETTER}){{2,}}(?!{_LETTER})"
)
_SEPARATORS: Final = re.compile(r"[^\w]|_")

UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u318f\u31f0-\u31ff"
    "\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
)
"""Scripts that need no space between words: Thai, Lao, Burmese, Khmer, Hangul, Han and Kana, as a regex class."""
_GAP_IN_UNSPACED: Final = re.compile(rf"(?<=[{UNSPACED}])(?: {{1,2}}|[._*-])(?=[{UNSPACED}])")

_GERSHAYIM: Final = re.compile("(?<=[\u05d0-\u05ea])[\"'](?=[\u05d0-\u05ea])")
"""The sign inside a Hebrew abbreviation: ת"ז is one word."""

# Before compatibility folding, which would turn "No" signs into the word "no".
_BEFORE: Final = str.maketrans(
    {
        "№": "nr ",
        "º": "",
        "ª": "",
        "°": "",
        "Ϲ": "C",
        "ϲ": "c",
        "´": "'",
        "`": "'",
        "’": "'",
        "ʼ": "'",
        "״": "",
    }
)
_AFTER: Final = {
    **dict(zip("łŁøØđĐħĦıĸŀðƿ", "lLoOdDhHikldp", strict=True)),
    **dict(zip("∂†∑∩∪¥", "dtenuy", strict=True)),
    "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE",
    **dict(zip("ةىؤئکیٱھ", "هيويكياه", strict=True)),
    **dict(zip("‐‑‒–—―−", "-------", strict=True)),
    **dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɑɡ", "abcdefghijklmnoprstuvwyzag", strict=True)),
    **dict(zip("🅐🅑🅒🅓🅔🅕🅖🅗🅘🅙🅚🅛🅜🅝🅞🅟🅠🅡🅢🅣🅤🅥🅦🅧🅨🅩", "abcdefghijklmnopqrstuvwxyz", strict=True)),
    **dict(zip("🅰🅱🅲🅳🅴🅵🅶🅷🅸🅹🅺🅻🅼🅽🅾🅿🆀🆁🆂🆃🆄🆅🆆🆇🆈🆉", "abcdefghijklmnopqrstuvwxyz", strict=True)),
    **dict(zip("🇦🇧🇨🇩🇪🇫🇬🇭🇮🇯🇰🇱🇲🇳🇴🇵🇶🇷🇸🇹🇺🇻🇼🇽🇾🇿", "abcdefghijklmnopqrstuvwxyz", strict=True)),
}  # fmt: skip
_DROPPED_MARKS: Final = (
    (0x0300, 0x036F), (0x0483, 0x0489), (0x0591, 0x05C7), (0x0610, 0x061A), (0x064B, 0x065F), (0x0670, 0x0670),
    (0x06D6, 0x06DC), (0x06DF, 0x06E8), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F),
)  # fmt: skip


_HOOKED: Final = re.compile(
    "LATIN (SMALL|CAPITAL) LETTER ([A-Z]) WITH (?:HOOK|STROKE|TOPBAR|BELT|TAIL|PALATAL HOOK|.* BAR)"
)
"""Letters with a sign that is part of them, by their names."""


class _Fold(dict[int, str]):
    """Character by character, remembered as characters are met, up to a bound."""

    def __missing__(self, code: int) -> str:
        folded = _AFTER.get(chr(code)) or _without_marks(code)
        if len(self) < 20_000:
            self[code] = folded
        return folded


def _without_marks(code: int) -> str:
    if any(first <= code <= last for first, last in _DROPPED_MARKS):
        return ""
    if 0x0180 <= code <= 0x024F and (hooked := _HOOKED.fullmatch(unicodedata.name(chr(code), ""))):
        return hooked[2].lower() if hooked[1] == "SMALL" else hooked[2]
    if code < 0x0700 or 0x1E00 <= code <= 0x1FFF:  # Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic
        return unicodedata.normalize("NFD", chr(code))[0]
    return chr(code)


_FOLD: Final = _Fold()


def fold(text: str) -> str:
    """The text with one spelling for every letter. Case is kept: `clientSecret` is two words."""
    if not text.isascii():
        text = _REVERSED.sub(lambda run: run[1][::-1], text)
        text = INVISIBLE.sub("", text).translate(_BEFORE)
        text = unicodedata.normalize("NFKC", text).translate(_FOLD)
        text = _GERSHAYIM.sub("", _GAP_IN_UNSPACED.sub("", text))
    elif not text.isprintable():
        text = INVISIBLE.sub("", text)
    return _SPACED_OUT.sub(lambda run: _SEPARATORS.sub("", run[0]), text)


_CAPITALS: Final = str.maketrans("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧΣАВЕЅІЈКМНОРСТУХԁԌ", "abezhikmnoptyxeabesijkmhopctyxdg")
_TO_LATIN: Final = str.maketrans(
    "ᑭᗩᔕᗯᖇᗪᑕᗷᖴᕼᒍᒪᗰᑎᑫᑌᐯ᙭шщяэцчаеѕіјкмнорстухгԁԛԝһӏьѡвпиѵ∂ʌπβαβεηικνορτυχωγμζσςօոսհցզաꓑꓮꓢꓪꓳꓣꓓꓔꓗꓰꓠꓲℓᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃᎩ",
    "paswrdcbfhjlmnquvxwwreuyaesijkmhopctyxrdqwhlbwbnuvdapbabenikvoptuxwyuzocounhhqwpaswordtkenilabcdeghijklmprstvwzy",
)
_MIRRORED: Final = str.maketrans("иийɴ", "nnnn")
"""A letter that looks like another one in a mirror."""
_TO_CYRILLIC: Final = str.maketrans("abceghikmnoprtuxy036@", "авсеgнікмпоргтихуозба")
_TO_GREEK: Final = str.maketrans("abehiknoprtuvwxyz0", "αβεηικνορρτυνωχυζο")
_TO_GREEK_CAPITALS: Final = str.maketrans("ABEHIKMNOPTXYZ0", "αβεηικμνορτχυζο")
_LEET: Final = str.maketrans("013456789@$!|€£¢", "oieasgtbgasileec")
_LEET_L: Final = str.maketrans("1!|", "lli")
LEET_SIGNS: Final = "@$!|€£¢"


def lookalikes(word: str) -> Iterator[str]:
    """Other readings of an unknown word: what a person may see in it, most likely first."""
    seen = {word.casefold()}
    for reading in _readings(word):
        if reading not in seen:
            seen.add(reading)
            yield reading


def _readings(word: str) -> Iterator[str]:
    if not word.isascii():
        latin = word.translate(_CAPITALS).casefold().translate(_TO_LATIN)
        yield latin
        yield latin.translate(_LEET)
        yield word.casefold().translate(_MIRRORED).translate(_TO_LATIN)
        if any(letter.isascii() for letter in word):  # a Latin letter inside a Cyrillic or Greek word
            yield word.casefold().translate(_TO_CYRILLIC)
            yield word.translate(_TO_GREEK_CAPITALS).casefold().translate(_TO_GREEK)
    lower = word.casefold()
    if not lower.isalpha():
        yield lower.translate(_LEET)
        yield lower.translate(_LEET_L).translate(_LEET)
    if "vv" in lower:
        yield lower.replace("vv", "w")
