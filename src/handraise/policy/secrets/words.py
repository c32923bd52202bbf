"""Text into clauses, and clauses into words that the lexicon knows.

Words are found where writing hides them: in `clientSecret` and `db_passwd`, in German and Finnish
compounds, behind Arabic and Hebrew prefixes, under endings, and in scripts without spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from handraise.policy.secrets.characters import LEET_SIGNS, UNSPACED, fold, lookalikes
from handraise.policy.secrets.lexicon import LONGEST_WORD, UNKNOWN_HEAD, Lexicon, lexicon

_ABBREVIATED: Final = re.compile(
    r"\b(?:(no)|(nr|nro|num|tel|dvs|bzw|ev|e\.v|inkl|st|c|n))\.(?=\s|$)", re.IGNORECASE
)
_COLON_ENDING: Final = re.compile(
    r"(?<=\w):(?:ets?|ens?|erna?|ar|n|s|ns|in|ia|ta|lla|lle|lta|ssa|sta|aan)\b"
)  # "sms:et", "PIN:n"
_NO_PUNCTUATION: Final = re.compile(r"[\w -]*")
_STOPS: Final = ".!?;:。！？；：؟؛।॥…•·\\n\\r\\t"
_PAUSES: Final = r",、，،/|()\[\]{}<>（）「」『』【】《》〈〉\"“”„«»"
_PUNCTUATION: Final = re.compile(rf"[{_STOPS}{_PAUSES}]+|\s--?(?=\s)")
_QUESTION_MARKS: Final = frozenset("?？؟")
_PAUSE: Final = re.compile(rf"[{_PAUSES}]")
_MARKS: Final = "\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff"  # vowel signs that `\w` does not count as letters
_WORD: Final = re.compile(rf"[{UNSPACED}]+|(?:[^\W_{UNSPACED}]|[{_MARKS}{re.escape(LEET_SIGNS)}])+")
_SIGNS: Final = re.compile(f"[{re.escape(LEET_SIGNS)}]+")
_HUMPS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\dA-Za-z]+")
_ARABIC: Final = re.compile("[\u0621-\u064a]")
_ARABIC_PREFIXES: Final = ("وبال", "وال", "بال", "فال", "كال", "ولل", "لل", "ال", "و", "ب", "ل", "ف", "ك")
_HEBREW: Final = re.compile("[\u05d0-\u05ea]")
_AND: Final = "וو"
_HEBREW_PREFIXES: Final = frozenset("והבלמשכ")


class Segment(NamedTuple):
    """Words that belong together, and whether only a comma parts them from what came before."""

    words: tuple[str, ...]
    continues: bool
    questions: bool = False
    """It ends with a question mark."""


def clauses(text: str) -> Iterator[Segment]:
    """The clauses of a text, in order; empty ones are left out."""
    folded = fold(text)
    if _NO_PUNCTUATION.fullmatch(folded) and " -" not in folded:
        if words := words_of(folded):
            yield Segment(words, continues=False)
        return
    if "." in folded:
        folded = _ABBREVIATED.sub(lambda found: "nr " if found[1] else f"{found[2]} ", folded)
    if ":" in folded:
        folded = _COLON_ENDING.sub("", folded)
    start, continues = 0, False
    for mark in _PUNCTUATION.finditer(folded):
        if mark[0] in ".!|" and folded[mark.end() : mark.end() + 1] > " ":  # "v1.2", "p!n"
            continue
        if words := words_of(folded[start : mark.start()]):
            yield Segment(words, continues, questions=not _QUESTION_MARKS.isdisjoint(mark[0]))
            continues = True
        continues = continues and _PAUSE.match(mark[0]) is not None
        start = mark.end()
    if words := words_of(folded[start:]):
        yield Segment(words, continues)


def words_of(clause: str) -> tuple[str, ...]:
    """The words of folded text, each as the lexicon spells it if it is known there."""
    return tuple(
        word
        for found in _WORD.findall(clause)
        for word in (_recognise(found) if len(found) <= LONGEST_WORD else _recognise_long(found))
    )


@lru_cache(maxsize=16_384)
def _recognise(found: str) -> tuple[str, ...]:
    known = lexicon()
    if _unspaced(found):
        return tuple(_run(found, known))
    return _whole(found, known) or _parts(found, known)


def _recognise_long(found: str) -> tuple[str, ...]:
    """Not remembered, so that nobody can fill the memory with words that nobody reads."""
    return tuple(_run(found, lexicon())) if _unspaced(found) else (found.casefold(),)


def _unspaced(word: str) -> bool:
    return re.match(f"[{UNSPACED}]", word) is not None


def _whole(word: str, known: Lexicon) -> tuple[str, ...]:
    """The word, or what a person sees in it, if the lexicon has it; otherwise nothing."""
    lower = word.casefold()
    if lower in known.phrases or (not _has_humps(word) and known.knows(lower)):
        return (lower,)
    if words := _without_prefix(lower, known):
        return words
    mixed = not word.isascii() and any(letter.isascii() for letter in word)
    for reading in lookalikes(word):
        if (mixed or len(reading) > 2) and (seen := _compound(reading, known)):
            return seen
    return ()


def _parts(word: str, known: Lexicon) -> tuple[str, ...]:
    """A word that is not known as it stands: its humps, or the parts of a compound."""
    if _SIGNS.search(word):
        return tuple(part for piece in _SIGNS.split(word) if piece for part in _recognise(piece))
    humps = _HUMPS.findall(word)
    if len(humps) > 1:
        return tuple(part for hump in humps for part in _recognise(hump))
    lower = word.casefold()
    return _compound(lower, known) or (lower,)


def _has_humps(word: str) -> bool:
    return word.isascii() and word.isalpha() and not (word.islower() or word.isupper() or word.istitle())


def _without_prefix(word: str, known: Lexicon) -> tuple[str, ...]:
    """An Arabic or Hebrew word without the little words written onto it; an "and" stays, as a word."""
    if _ARABIC.match(word):
        lengths = [len(prefix) for prefix in _ARABIC_PREFIXES if word.startswith(prefix)]
    elif _HEBREW.match(word):
        most = next((at for at, letter in enumerate(word) if letter not in _HEBREW_PREFIXES), 0)
        lengths = list(range(1, min(most, 3) + 1))
    else:
        return ()
    for length in lengths:
        rest = word[length:]
        if len(rest) > 1 and known.knows(rest):
            return (word[0], rest) if word[0] in _AND else (rest,)
    return ()


def _compound(word: str, known: Lexicon) -> tuple[str, ...]:
    """The word if it is known, or the parts of a compound around a word that compounds are made with."""
    if known.knows(word):
        return (word,)
    matches = (
        (at, inner)
        for at in range(len(word) - 2)
        for inner in known.inner.get(word[at : at + 3], ())
        if word.startswith(inner, at)
    )
    if match := max(matches, key=lambda match: (match[0] + len(match[1]), len(match[1])), default=None):
        at, inner = match
        return _around(word[:at], inner, word[at + len(inner) :], known)
    for length in range(len(word) - 1, 3, -1):
        if known.names_secret(word[:length]):
            return _around("", word[:length], word[length:], known)
    return ()


def _around(before: str, inner: str, after: str, known: Lexicon) -> tuple[str, ...]:
    tail: tuple[str, ...] = ()
    if len(after) > known.stems.get(inner, 0) or known.is_head(after):
        named = _compound(after, known) or _compound(after.removeprefix("s"), known)
        tail = named if named and not known.is_head(named[0]) else (UNKNOWN_HEAD, *named)
    return (*((before,) if before else ()), inner, *tail)


def _run(text: str, known: Lexicon) -> Iterator[str]:
    """The known words in text without spaces, longest first, and what lies between them."""
    at = unknown = 0
    while at < len(text):
        word = next((word for word in known.runs.get(text[at], ()) if text.startswith(word, at)), None)
        if word is None:
            at += 1
            continue
        if unknown < at:
            yield text[unknown:at]
        yield word
        at = unknown = at + len(word)
    if unknown < at:
        yield text[unknown:at]
