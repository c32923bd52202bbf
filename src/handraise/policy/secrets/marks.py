"""The words of a text with the parts they play: the longest phrases that the lexicon knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Final, NamedTuple

from handraise.policy.secrets.lexicon import COMMON, LONGEST_WORD, NOTHING, Entry, Lexicon, lexicon

_SKIPPED: Final = 3
"""At most so many little words inside a phrase: "clé de l'API"."""


class Mark(NamedTuple):
    """A word or phrase with the roles it plays."""

    text: str
    entry: Entry

    @property
    def unknown(self) -> bool:
        return not self.entry.roles and not self.text.isdigit()

    @property
    def names_secret(self) -> bool:
        return any(sense.kind != "personal_data" for sense in self.entry.senses)

    @property
    def filler(self) -> bool:
        return self.entry.filler or (not self.entry.roles and self.text.isdigit())


def marks_of(words: Sequence[str]) -> list[Mark]:
    """The longest known phrases, from left to right."""
    marks, at = [], 0
    while at < len(words):
        mark, begins_phrases = (
            _mark(words[at]) if len(words[at]) <= LONGEST_WORD else (Mark(words[at], NOTHING), False)
        )
        end = at + 1
        if begins_phrases:
            end, mark = _longest(words, at, mark)
        marks.append(mark)
        at = end
    return marks


@lru_cache(maxsize=16_384)
def _mark(word: str) -> tuple[Mark, bool]:
    """The word by itself, and whether a longer phrase may begin with it."""
    known = lexicon()
    forms = _forms(word)
    entry = next((known.phrases[form] for form in forms if form in known.phrases), NOTHING)
    return Mark(word, entry), any(form in known.beginnings for form in forms)


def _longest(words: Sequence[str], at: int, alone: Mark) -> tuple[int, Mark]:
    known = lexicon()
    longer = [
        found
        for form in _forms(words[at])
        if form in known.beginnings
        for found in _longer(words, at + 1, form + " ", known, 0)
    ]
    if not longer:
        return at + 1, alone
    end, entry = max(longer, key=_end)
    return end, Mark("".join(words[at:end]), entry)


def _end(found: tuple[int, Entry]) -> int:
    return found[0]


def _longer(
    words: Sequence[str], at: int, before: str, known: Lexicon, skipped: int
) -> Iterator[tuple[int, Entry]]:
    """The phrases that go on from here, with their ends; little words between their words are passed over."""
    if at == len(words):
        return
    for form in _forms(words[at]):
        phrase = before + form
        if entry := known.phrases.get(phrase):
            yield at + 1, entry
        if phrase in known.beginnings:
            yield from _longer(words, at + 1, phrase + " ", known, 0)
    if skipped < _SKIPPED and not known.little.isdisjoint(_forms(words[at])):
        yield from _longer(words, at + 1, before, known, skipped + 1)


@lru_cache(maxsize=16_384)
def _forms(word: str) -> tuple[str, ...]:
    """The word itself and the entries it may be a form of."""
    return (word, *lexicon().forms_of(word))


def languages_of(text: str, marks: Sequence[Mark]) -> int:
    """The languages that know most of the words and letters: a little word of one is a noun of another."""
    counts: dict[int, int] = {}
    letters = lexicon().letters
    spoken = [mark.entry.languages for mark in marks]
    spoken += [] if text.isascii() else [letters[letter] for letter in set(text.lower()) if letter in letters]
    for languages in spoken:
        while languages:
            language = languages & -languages
            counts[language] = counts.get(language, 0) + 1
            languages ^= language
    most = max(counts.values(), default=0)
    return reduce(or_, (language for language, count in counts.items() if 5 * count >= 4 * most), COMMON)
