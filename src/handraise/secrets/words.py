"""Text into clauses, and clauses into words that the lexicon knows.

Words are found where writing hides them: in `clientSecret` and `db_passwd`, in German and Finnish
compounds, behind Arabic and Hebrew prefixes, under endings, and in scripts without spaces. Then the longest
phrases that the lexicon knows become marks, with the parts they play.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from itertools import chain, pairwise
from operator import or_
from typing import Final, NamedTuple

from handraise.secrets.characters import LEET_SIGNS, UNSPACED, fold, lookalikes
from handraise.secrets.disguises import (
    decoded,
    decoded_base64,
    may_begin,
    may_go_on,
    moved_along,
    put_together,
    seen_in,
    spelled_by_initials,
)
from handraise.secrets.lexicon import COMMON, LONGEST_WORD, NOTHING, UNKNOWN_HEAD, Entry, Lexicon, lexicon

_ABBREVIATED: Final = re.compile(
    r"\b(?:(no)|(pvt|nr|nro|num|tel|dvs|bzw|ev|e\.v|inkl|st|c|n|e\.g|eg|i\.e|z\. ?b|p\. ?ej|p\. ?ex|bijv|напр))"
    r"\.(?=\s|$)",
    re.IGNORECASE,
)
_COLON_ENDING: Final = re.compile(
    r"(?<=\w):(?:ets?|ens?|erna?|ar|n|s|ns|in|ia|ta|lla|lle|lta|ssa|sta|aan)\b"
)  # "sms:et", "PIN:n"
_NO_PUNCTUATION: Final = re.compile(r"[\w -]*")
_PLAIN: Final = re.compile(r"(?:[A-Za-z0-9 .,?!'()-]|[:;](?= |$))*")
"""Nothing here can hide a letter."""
_CODES: Final = re.compile(r"(?:\b[0-9A-Fa-f]{2,3}\b ){4}|(?<!\S)(?:[.-]{1,5} ){3}")
"""Numbers, or dots and dashes, that may stand for letters."""
_KEY_FILE: Final = re.compile(
    r"(?<![\w.])[~./\w-]{0,60}(?:id_(?:rsa|ed25519|ecdsa|dsa)\b|\w\.(?:pem|key|ppk|p12|pfx|p8|jks|kdbx)\b"
    r"|(?<!\w)\.(?:env(?:\.(?!example|sample|template|dist)\w+)?|netrc|pgpass|npmrc|pypirc|git-credentials|htpasswd)\b|\.kube/config\b|\.aws/credentials\b"
    r"|\bwallet\.dat\b|\b(?:credentials|service[-_]account)\.json\b|\bsecrets\.(?:ya?ml|json|toml)\b)(?!\.?\w)"
)
"""Names of files that hold private keys. A public one ends with .pub."""
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


_FEW: Final = 2
_MOST_PIECES: Final = 40
"""Nobody cuts a word into pieces in a longer clause."""


class Mark(NamedTuple):
    """A word or phrase with the roles it plays."""

    text: str
    entry: Entry
    unknown: bool
    """No list has it."""
    filler: bool
    """It says nothing by itself."""

    @property
    def names_secret(self) -> bool:
        return any(sense.kind != "personal_data" for sense in self.entry.senses)


class Word(NamedTuple):
    """What is known of one word."""

    text: str
    alone: Mark
    forms: tuple[str, ...]
    """The word itself, and the entries it may be a form of."""
    begun: tuple[str, ...]
    """Those of them that longer phrases begin with."""
    little: bool
    """Phrases may pass over it."""
    begins: bool
    """It may be the first piece of a secret that was cut in pieces."""


class Segment(NamedTuple):
    """Words that belong together, and whether only a comma parts them from what came before."""

    known: tuple[Word, ...]
    continues: bool
    questions: bool = False
    """It ends with a question mark."""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple([word.text for word in self.known])


def clauses(text: str) -> Iterator[Segment]:
    """The clauses of a text, in order; empty ones are left out."""
    folded = fold(text if _PLAIN.fullmatch(text) and not _CODES.search(text) else decoded(text))
    if _NO_PUNCTUATION.fullmatch(folded) and " -" not in folded:
        if words := words_of(folded):
            yield Segment(words, continues=False)
        return
    if "." in folded:
        folded = _KEY_FILE.sub("key file", folded)
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


def words_of(clause: str) -> tuple[Word, ...]:
    """The words of folded text, each as the lexicon spells it if it is known there."""
    words = tuple(chain.from_iterable(map(_recognised, _WORD.findall(clause))))
    if not 1 < len(words) <= _MOST_PIECES:
        return words
    texts = [word.text for word in words]
    if any(one.begins and may_go_on(other.text) for one, other in pairwise(words)):
        joined = put_together(texts)
        words = words if len(joined) == len(words) else tuple(map(_word, joined))
    if len(words) > _FEW and all(word.alone.unknown for word in words):
        words = tuple(map(_word, moved_along(texts)))
    return (*words, *map(_word, spelled_by_initials(texts)))


def _word(text: str) -> Word:
    """Long ones are not remembered, so that nobody can fill the memory with words that nobody reads."""
    return _known(text) if len(text) <= LONGEST_WORD else _known.__wrapped__(text)


def _recognised(found: str) -> tuple[Word, ...]:
    if found.isdigit():
        return (_number(found),)
    return _recognise(found) if len(found) <= LONGEST_WORD else _recognise_long(found)


def _number(text: str) -> Word:
    """Not remembered: there are too many."""
    known = lexicon()
    begun = (f"{text} ",) if text in known.beginnings else ()
    return Word(text, _marked(text, known.phrases.get(text, NOTHING)), (text,), begun, False, False)


@lru_cache(maxsize=16_384)
def _recognise(found: str) -> tuple[Word, ...]:
    known = lexicon()
    words = _run(found, known) if _unspaced(found) else _whole(found, known) or _parts(found, known)
    return tuple(map(_known, words))


def _recognise_long(found: str) -> tuple[Word, ...]:
    return tuple(map(_word, _run(found, lexicon()) if _unspaced(found) else (found.casefold(),)))


def _words_in(piece: str) -> Iterator[str]:
    return (word.text for word in _recognise(piece))


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
        return tuple(part for piece in _SIGNS.split(word) if piece for part in _words_in(piece))
    if text := decoded_base64(word):
        return tuple(word.text for word in words_of(text))
    if seen := _disguised(word, known):
        return seen
    humps = _HUMPS.findall(word.replace("ß", "ss"))
    if len(humps) > 1:
        return tuple(part for hump in humps for part in _words_in(hump))
    lower = word.casefold()
    return _compound(lower, known) or (lower,)


def _disguised(word: str, known: Lexicon) -> tuple[str, ...]:
    """What a person sees in a word that is written backwards, upside down or with a letter wrong."""
    lower = word.casefold()
    readings = [lower, *(() if lower.isalpha() else lookalikes(word))]
    for seen in (seen for reading in readings for seen in seen_in(reading)):
        if words := _compound(seen, known):
            return words if any(map(known.always_names_secret, words)) else ()
    return ()


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


_SKIPPED: Final = 3
"""At most so many little words inside a phrase: "clé de l'API"."""


def _marked(text: str, entry: Entry) -> Mark:
    number = not entry.roles and text.isdigit()
    return Mark(text, entry, not entry.roles and not number, entry.filler or number)


def marks_of(words: Sequence[Word]) -> list[Mark]:
    """The longest known phrases, from left to right."""
    marks, at = [], 0
    while at < len(words):
        mark, length = words[at].alone, 1
        if words[at].begun and (phrase := _longest(words, at)):
            length, entry = phrase
            mark = _marked(" ".join([word.text for word in words[at : at + length]]), entry)
        marks.append(mark)
        at += length
    return marks


@lru_cache(maxsize=16_384)
def _known(word: str) -> Word:
    known = lexicon()
    forms = (word, *known.forms_of(word))
    entry = next((known.phrases[form] for form in forms if form in known.phrases), NOTHING)
    begun = tuple(f"{form} " for form in forms if form in known.beginnings)
    little = not known.little.isdisjoint(forms)
    return Word(word, _marked(word, entry), forms, begun, little, may_begin(word))


def _longest(words: Sequence[Word], start: int) -> tuple[int, Entry] | None:
    """The longest phrase that begins with this word; little words between its words are passed over."""
    phrases, beginnings = lexicon().phrases, lexicon().beginnings
    longest = None
    begun = [(phrase, 0) for phrase in words[start].begun]
    for place in range(1, len(words) - start):
        forms, little = words[start + place].forms, words[start + place].little
        going_on = []
        for before, skipped in begun:
            for form in forms:
                phrase = before + form
                if phrase in phrases and (longest is None or longest[0] <= place):
                    longest = place + 1, phrases[phrase]
                if phrase in beginnings:
                    going_on.append((f"{phrase} ", 0))
            if little and skipped < _SKIPPED:
                going_on.append((before, skipped + 1))
        if not going_on:
            break
        begun = going_on
    return longest


def languages_of(text: str, marks: Sequence[Mark]) -> int:
    """The languages that know most of the words and letters: a little word of one is a noun of another."""
    letters = lexicon().letters
    spoken = [mark.entry.languages for mark in marks]
    spoken += [] if text.isascii() else [letters[letter] for letter in set(text.lower()) if letter in letters]
    counts = Counter([language for languages in spoken for language in _each(languages)])
    most = max(counts.values(), default=0)
    return reduce(or_, [language for language, count in counts.items() if 5 * count >= 4 * most], COMMON)


@lru_cache(maxsize=4096)
def _each(languages: int) -> tuple[int, ...]:
    """The languages of a set of bits."""
    return tuple(1 << bit for bit in range(languages.bit_length()) if languages >> bit & 1)
