"""Words that a person can read and a list of words does not know.

The tricks this undoes: codes for characters, letters with signs between them or left out, words cut in pieces,
read backwards, turned upside down, moved along the alphabet, encoded, misspelt, or spelled with an alphabet.
Only words that the lexicon does not know are looked at, and only a word that names a secret is seen in them.
"""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from handraise.secrets.lexicon import lexicon

_ESCAPED: Final = r"\\(?:u\{([0-9a-fA-F]{1,5})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))"
_ENTITY: Final = r"&#(?:(\d{1,6})|[xX]([0-9a-fA-F]{1,5}));?"
_NAMED: Final = {
    "shy": "", "zwj": "", "zwnj": "", "zerowidthspace": "", "nobreak": "", "nbsp": " ", "lt": "<", "gt": ">",
    "amp": "&", "quot": '"', "apos": "'", "hyphen": "-", "sol": "/",
}  # fmt: skip
_PERCENT: Final = r"(?:%[0-9a-fA-F]{2})+"
_LETTER: Final = r"[^\W\d_]"
_SIGNED: Final = rf"(?<![^\W_]){_LETTER}(?:\s?[/|·•∙‧,:;\\]\s?{_LETTER}){{2,}}(?![^\W_])"
_MASKED: Final = r"(?<![A-Za-z*_#])[A-Za-z]+(?:[*#•]{1,8}|_{2,8})[A-Za-z*#•_]*(?![A-Za-z])"
_NUMBERED: Final = r"(?<![\w.])(?:(?:0x)?[0-9A-Fa-f]{2,3}[ ,:-]{1,2}){4,}(?:0x)?[0-9A-Fa-f]{2,3}(?![\w.])"
_CUT: Final = r"([^\W\d_]{1,12})[^\w\s]{1,3}([^\W\d_]{1,12})"
_IN_MORSE: Final = r"(?<!\S)[.-]{1,5}(?: {1,3}(?:/ )?[.-]{1,5}){2,}(?!\S)"
_MORSE: Final = {
    ".-": "a", "-...": "b", "-.-.": "c", "-..": "d", ".": "e", "..-.": "f", "--.": "g", "....": "h", "..": "i",
    ".---": "j", "-.-": "k", ".-..": "l", "--": "m", "-.": "n", "---": "o", ".--.": "p", "--.-": "q", ".-.": "r",
    "...": "s", "-": "t", "..-": "u", "...-": "v", ".--": "w", "-..-": "x", "-.--": "y", "--..": "z",
}  # fmt: skip
_TAG: Final = r"</?[a-z]{1,6}>"
_BOXED: Final = r"(?:[\[({<][^\W_][\])}>]\s?){3,}"
_DRAWN: Final = (("|>", "p"), ("|)", "d"), ("|<", "k"), ("()", "o"), ("\\/\\/", "w"), ("][", "i"))
_BASE64: Final = r"[A-Za-z0-9+/]{8,64}={0,2}"
_TURNED: Final = str.maketrans("ɐɔǝɟƃɓɥᴉıɾʞɯɹʇʌʍʎpdbqnu", "aceffghiijkmrtvwydpqbun")
_UPSIDE_DOWN: Final = frozenset("ɐɔǝɟƃɥᴉɾʞɯɹʇʌʍʎ")
_FLIPPED: Final = rf"(?:\w*[{''.join(sorted(_UPSIDE_DOWN))}]\w*\s+)+\w*[{''.join(sorted(_UPSIDE_DOWN))}]\w*"
"""Several words that are upside down: the last one is the first."""
_NATO: Final = frozenset({
    "whiskey", "xray", "yankee", "zulu", "alpha", "alfa", "bravo", "charlie", "delta", "echo",
    "foxtrot", "golf", "hotel", "india", "juliet", "juliett", "kilo", "lima", "mike", "november",
    "oscar", "papa", "quebec", "romeo", "sierra", "tango", "uniform", "victor",
})  # fmt: skip
_SHORTEST: Final = 7
"""A shorter word has too many neighbours: "token" is one letter from "taken"."""
_SHORTEST_JOINED: Final = 6
_MANY_PIECES: Final = 5
_LONGEST_PIECE: Final = 8


def decoded(text: str) -> str:
    """The text with character codes, drawn letters and letters between signs put back."""
    if not _UPSIDE_DOWN.isdisjoint(text):
        text = re.sub(_FLIPPED, lambda found: found[0][::-1].translate(_TURNED), text)
    if "&" in text:
        text = re.sub(_ENTITY, _character, text)
        text = re.sub(r"&([A-Za-z]{2,16});", lambda found: _NAMED.get(found[1].lower(), found[0]), text)
    if "<" in text:
        text = re.sub(_TAG, "", text)
    if "%" in text:
        text = re.sub(_PERCENT, lambda found: unquote(found[0]), text)
    if "\\" in text:
        text = re.sub(_ESCAPED, lambda found: chr(int(found[1] or found[2] or found[3], 16)), text)
    if "[" in text or "(" in text:
        text = re.sub(_BOXED, lambda found: re.sub(r"[\W_]", "", found[0]), text)
    for drawn, letter in _DRAWN:
        if drawn in text:
            text = text.replace(drawn, letter)
    if "*" in text or "__" in text or "#" in text or "•" in text:
        text = re.sub(_MASKED, lambda found: _filled_in(found[0]) or found[0], text)
    text = re.sub(_NUMBERED, _spelled_in_numbers, text)
    text = re.sub(_IN_MORSE, _tapped, text)
    text = re.sub(_CUT, _joined, text)
    if not text.isalnum():
        text = re.sub(_SIGNED, lambda found: re.sub(r"[\W_]", "", found[0]), text)
    return text


def _tapped(found: re.Match[str]) -> str:
    """The letters of a Morse code; words are parted by a stroke or more blanks."""
    words = re.split(r" {2,}| ?/ ?", found[0])
    return " ".join("".join(_MORSE.get(sign, " ") for sign in word.split()) for word in words)


def _spelled_in_numbers(found: re.Match[str]) -> str:
    """The letters that codes stand for: "70 61 73 73", "112 97 115 115"."""
    codes = re.findall(r"(?:0x)?([0-9A-Fa-f]{2,3})", found[0])
    for base in (16, 10):
        if all(base == 16 or code.isdigit() for code in codes):
            text = "".join(chr(int(code, base)) for code in codes)
            if text.isascii() and text.replace(" ", "").isalpha():
                return text
    return found[0]


def _joined(found: re.Match[str]) -> str:
    """A word that a sign cuts in two: "pass/word"."""
    whole = found[1] + found[2]
    return whole if whole.lower() in _whole_words() else found[0]


def _character(entity: re.Match[str]) -> str:
    return chr(int(entity[1]) if entity[1] else int(entity[2], 16))


def seen_in(word: str) -> Iterator[str]:
    """The words that a person may see in an unknown word."""
    backwards = word[::-1]
    if len(word) >= 5:
        yield backwards
    if not _UPSIDE_DOWN.isdisjoint(word):
        yield backwards.translate(_TURNED)
    if len(word) >= _CONSONANTS and _VOWELS.isdisjoint(word) and word.isascii():
        bones = _skeletons().get(_skeleton(word))  # "psswrd"
        if bones is not None:
            yield bones
    if word.isascii() and len(word) >= _SHORTEST:
        if word.endswith("ay"):  # pig Latin: "asswordpay"
            yield from (word[-at - 2 : -2] + word[: -at - 2] for at in (1, 2, 3))
        yield codecs.encode(word, "rot13")
        doubled = word + word
        yield from (secret for secret in _by_letters().get(_letters(word), ()) if secret in doubled)
        if (neighbour := _neighbour(word)) is not None:
            yield neighbour


def _letters(word: str) -> str:
    return "".join(sorted(word))


@lru_cache(maxsize=1)
def _by_letters() -> dict[str, list[str]]:
    """The long words by their letters in the order of the alphabet."""
    found: dict[str, list[str]] = {}
    for secret in _long_secrets():
        found.setdefault(_letters(secret), []).append(secret)
    return found


def decoded_base64(word: str) -> str:
    """The text that a word encodes; empty if it is just a word."""
    if re.fullmatch(_BASE64, word) is None or word.islower() or len(word) % 4 == 1:
        return ""
    try:
        text = base64.b64decode(word + "=" * (-len(word) % 4), validate=True).decode("ascii")
    except ValueError:
        return ""
    return text if re.fullmatch(r"[A-Za-z _-]{3,}", text) else ""


def spelled_by_initials(words: Sequence[str]) -> tuple[str, ...]:
    """The secret that the first letters of a sentence spell, if there is one: "People Always Say …"."""
    if len(words) <= _SHORTEST:
        return ()
    initials, starts = "".join([word[0] for word in words]), _starts_of_long_secrets()
    for at in range(len(words) - _SHORTEST):
        for secret in starts.get(initials[at : at + 3], ()):
            if initials.startswith(secret, at):
                return (secret,)
    return ()


@lru_cache(maxsize=1)
def _starts_of_long_secrets() -> dict[str, list[str]]:
    """The long words by their first three letters."""
    starts: dict[str, list[str]] = {}
    for secret in _long_secrets():
        starts.setdefault(secret[:3], []).append(secret)
    return starts


def moved_along(words: Sequence[str]) -> Sequence[str]:
    """The words with each letter moved by half the alphabet, if that makes words: "glcr lbhe cva"."""
    moved = [codecs.encode(word, "rot13") for word in words]
    return moved if all(map(_is_known, moved)) else words


def put_together(words: Sequence[str]) -> tuple[str, ...]:
    """The words with pieces joined that name a secret only together: "pa ss wo rd", "papa alpha sierra …"."""
    joined, end = [], 0
    for at, word in enumerate(words):
        if at >= end:
            length = 1
            if may_begin(word):
                length, word = _spelled(words, at) if word in _NATO else _longest_joined(words, at)
            joined.append(word)
            end = at + length
    return tuple(joined)


def may_begin(word: str) -> bool:
    """Whether it may be the first piece of a secret that was cut in pieces."""
    if word in _NATO:
        return True
    starts, ends = _starts_and_ends()
    turned = word[::-1]
    return len(word) <= _LONGEST_PIECE and (word in starts or turned in starts or turned in ends)


@lru_cache(maxsize=16_384)
def may_go_on(word: str) -> bool:
    """Whether it may be a later piece of one."""
    if word in _NATO:
        return True
    return (
        word.isalpha() and len(word) <= _LONGEST_PIECE and (word in _in_a_row() or word[::-1] in _in_a_row())
    )


@lru_cache(maxsize=1)
def _in_a_row() -> str:
    """All words that may be cut in pieces, to look for pieces in."""
    return " ".join(sorted(word for word in _whole_words() if len(word) >= _SHORTEST_JOINED))


def _spelled(words: Sequence[str], at: int) -> tuple[int, str]:
    """A word that the words of an alphabet spell."""
    spelled = 0
    while at + spelled < len(words) and words[at + spelled] in _NATO:
        spelled += 1
    word = "".join(word[0] for word in words[at : at + spelled])
    return (spelled, word) if spelled >= 3 and word in _whole_words() else (1, words[at])


def _longest_joined(words: Sequence[str], at: int) -> tuple[int, str]:
    """The longest secret whose pieces follow each other: as they are, each backwards, or all backwards."""
    starts, ends = _starts_and_ends()
    longest = 1, words[at]
    forwards, turned = words[at], words[at][::-1]
    backwards = turned
    for length, piece in enumerate(words[at + 1 : at + _MANY_PIECES], start=2):
        forwards, turned, backwards = forwards + piece, turned + piece[::-1], piece[::-1] + backwards
        if forwards not in starts and turned not in starts and backwards not in ends:
            break
        if len(piece) <= _LONGEST_PIECE:
            pieces = words[at : at + length]
            secrets = _single_words() if all(map(_is_known, pieces)) else _whole_words()
            whole = next((word for word in (forwards, turned, backwards) if word in secrets), None)
            longest = (length, whole) if whole and len(whole) >= _SHORTEST_JOINED else longest
    return longest


@lru_cache(maxsize=1)
def _starts_and_ends() -> tuple[frozenset[str], frozenset[str]]:
    """How the words begin and end that may be cut in pieces."""
    words = [word for word in _whole_words() if len(word) >= _SHORTEST_JOINED]
    starts = {word[:length] for word in words for length in range(1, len(word) + 1)}
    return frozenset(starts), frozenset(word[length:] for word in words for length in range(len(word)))


@lru_cache(maxsize=16_384)
def _is_known(word: str) -> bool:
    return word.isdigit() or lexicon().knows(word)


@lru_cache(maxsize=1)
def _single_words() -> frozenset[str]:
    """Those that are no phrase written in one piece: known words beside each other are what they are."""
    phrases = {phrase.replace(" ", "").replace("*", "") for phrase in lexicon().phrases if " " in phrase}
    return _whole_words() - phrases | {"password", "passwort", "passcode", "passphrase"}


@lru_cache(maxsize=1)
def _whole_words() -> frozenset[str]:
    """Every word of one piece that always names a credential."""
    return frozenset(
        phrase.rstrip("*")
        for phrase, entry in lexicon().phrases.items()
        if " " not in phrase
        for sense in entry.senses
        if sense.strength == "strong" and sense.kind != "personal_data"
    )


def _filled_in(masked: str) -> str | None:
    """The word behind "p*ssw*rd": a star is a letter, a row of them some letters."""
    pattern = re.compile(
        re.sub(r"[*#•_]+", lambda run: "[a-z]" if len(run[0]) == 1 else "[a-z]{2,8}", masked.lower())
    )
    return next((word for word in _long_secrets() if pattern.fullmatch(word)), None)


@lru_cache(maxsize=1)
def _long_secrets() -> tuple[str, ...]:
    """The words of one piece that always name a credential, in letters of ASCII."""
    known = lexicon()
    words = {
        phrase.rstrip("*")
        for phrase, entry in known.phrases.items()
        if phrase.isascii()
        for sense in entry.senses
        if sense.strength == "strong" and sense.kind in _MISSPELT
    }
    return tuple(sorted(word for word in words if len(word) > _SHORTEST and word.isalpha()))


_MISSPELT: Final = frozenset(
    {"password", "passphrase", "seed_phrase", "private_key", "api_key", "card_number"}
)


_ALIKE: Final = tuple(map(frozenset, ("aeiouy", "szc", "ckq", "dt", "vwu", "fv", "gj", "mn", "lr")))
"""Letters that sound or look much the same."""


@lru_cache(maxsize=1)
def _shortened() -> dict[str, str]:
    """Each long word under every spelling that lacks one of its letters."""
    return {word[:at] + word[at + 1 :]: word for word in _long_secrets() for at in range(1, len(word))}


def _neighbour(word: str) -> str | None:
    """The secret that differs from the word in one letter: one too many, one missing, another, or two swapped.

    Or in its vowels: "paswrod".
    """
    spellings = _shortened()
    if word in spellings:
        return spellings[word]
    sounding = _skeletons().get(_skeleton(word))
    if sounding is not None and abs(len(sounding) - len(word)) <= 2:
        return sounding
    for at in range(1, len(word)):
        shorter = word[:at] + word[at + 1 :]
        if (found := spellings.get(shorter)) is not None and word[0] == found[0] and _near(word, found):
            return found
        if shorter in _secret_set():
            return shorter
    return None


_VOWELS: Final = frozenset("aeiouy")
_CONSONANTS: Final = 5
"""Fewer of them are shared by too many words."""


def _skeleton(word: str) -> str:
    """The consonants, each run of one once, with one letter for those that sound alike."""
    letters = re.sub(r"[aeiouy]", "", word.translate(_SOUNDS).replace("ph", "f"))
    return re.sub(r"(.)\1+", r"\1", letters)


_SOUNDS: Final = str.maketrans("kqzv", "ccsw")


@lru_cache(maxsize=1)
def _skeletons() -> dict[str, str]:
    """The long words by their consonants."""
    words = {_skeleton(word): word for word in _long_secrets()}
    return {bones: word for bones, word in words.items() if len(bones) >= _CONSONANTS}


@lru_cache(maxsize=1)
def _secret_set() -> frozenset[str]:
    return frozenset(_long_secrets())


def _near(word: str, secret: str) -> bool:
    """Same length: one letter sounds alike, or two neighbours are swapped. "Passford" is a street."""
    if len(word) != len(secret):
        return False
    differing = [at for at, (one, other) in enumerate(zip(word, secret, strict=True)) if one != other]
    if len(differing) == 1:
        letters = {word[differing[0]], secret[differing[0]]}
        return any(letters <= alike for alike in _ALIKE)
    return (
        len(differing) == 2
        and differing[1] - differing[0] == 1
        and sorted(word[differing[0] : differing[1] + 1]) == sorted(secret[differing[0] : differing[1] + 1])
    )
