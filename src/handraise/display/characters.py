"""Which characters may be shown as they are, and which only by their number."""

from __future__ import annotations

from unicodedata import category, combining

OPENING, CLOSING = "⟨", "⟩"
"""They enclose what we put in. In the text itself they are shown by number, so nobody can forge them."""

_ZWNJ, _ZWJ = "\u200c", "\u200d"
_VARIATIONS = "\ufe0e\ufe0f"
_KEYCAP = "\u20e3"
_NEVER = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\ufffc\U00016fe4\U0001d159"
).union(map(chr, range(0xFE00, 0xFE10)), map(chr, range(0xE0100, 0xE01F0)))
"""Letters, marks and symbols that show nothing, or change what stands before them."""
_TAKES_VARIATION = frozenset("‼⁉™ℹ〰〽㊗㊙©®")


def clings(character: str) -> bool:
    """Whether the character is drawn onto the one before it, or joins it to the next."""
    return category(character) in ("Mn", "Me", "Mc") or character in (_ZWJ, _ZWNJ)


def may_be_shown(text: str, place: int) -> bool:
    """Whether the character shows what it is where it stands.

    Joiners and emoji variations may stay where writing needs them: after a virama,
    between Arabic letters, inside an emoji sequence.
    """
    character = text[place]
    if character in "\n ":
        return True
    if character in _VARIATIONS:
        return _chooses_variation(text[place - 1 : place], text[place + 1 : place + 2])
    if character in (_ZWJ, _ZWNJ):
        return _is_needed(character, text[place - 1 : place], text[place + 1 : place + 2])
    return (
        category(character) not in _NEVER
        and character not in _INVISIBLE
        and character not in OPENING + CLOSING
    )


def _chooses_variation(before: str, after: str) -> bool:
    if not before:
        return False
    if before in "#*0123456789":
        return after == _KEYCAP
    return before in _TAKES_VARIATION or category(before) in ("So", "Sm")


def _is_needed(joiner: str, before: str, after: str) -> bool:
    if not before:
        return False
    if combining(before) == 9:  # a virama: the joiner decides the shape of the conjunct
        return True
    if joiner == _ZWNJ:
        return _is_arabic(before) and bool(after) and _is_arabic(after)
    return _is_emoji(before) and bool(after) and _is_emoji(after) and after not in _VARIATIONS


def _is_arabic(character: str) -> bool:
    return category(character) == "Lo" and (
        "\u0620" <= character <= "\u077f" or "\u08a0" <= character <= "\u08ff"
    )


def _is_emoji(character: str) -> bool:
    return (
        character in _VARIATIONS or category(character) == "So" or "\U0001f3fb" <= character <= "\U0001f3ff"
    )
