"""The words of every language, as the reader looks them up: one compiled file, loaded at first use.

The words themselves are written in `lexicons/*.txt`, one file a language; `tests/secrets/compile.py` turns those
into `lexicon.json`, because reading 20,000 words as they are written takes a third of a second.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple

COMMON: Final = 1
"""The language bit of what every language borrows; the languages themselves are the higher bits."""
COMPILED: Final = "lexicon.json"
LONGEST_WORD: Final = 64
"""Nobody reads a longer one; it is taken as it is."""
UNKNOWN_HEAD: Final = "+"
"""Stands for the rest of a compound: "Passwort" in front of anything is no password."""

Strength = Literal["strong", "weak", "bare", "doubtful"]


class Sense(NamedTuple):
    """One kind of secret that an entry may name.

    A strong one always does, a weak one unless something turns it into something else,
    a bare one only when it stands alone. A doubtful one is described and not named.
    """

    kind: str
    strength: Strength


class Rule(NamedTuple):
    """Groups of words that ask for a secret only together: a "code" and "by SMS"."""

    kind: str
    first: str
    others: tuple[str, ...]
    near: bool
    described: bool
    """The words describe it, so that no noun beside them makes it something else."""
    doubtful: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """What a word or phrase does: the roles it plays, each with the languages (as bits) in which it does."""

    roles: Mapping[str, int]
    senses: tuple[Sense, ...] = ()
    filler: bool = False
    """Says nothing by itself: "the", "please", "value"."""
    languages: int = 0
    """Every language that knows it."""
    spares: tuple[str, ...] = ()
    """The kinds that its words would name without it: a "GPIO pin" spares the PIN."""
    telling: bool = False
    """It names a secret, by itself or together with others."""


NOTHING: Final = Entry({})


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Everything the reader looks up."""

    phrases: Mapping[str, Entry]
    """Words and phrases; words are separated by one space, and those that take endings keep their star."""
    beginnings: Set[str]
    """The first words of longer phrases."""
    others: Set[str]
    """Words that stand only inside phrases."""
    stems: Mapping[str, int]
    """Words that take endings, without the star, and how long an ending may be."""
    inner: Mapping[str, list[str]]
    """Words that may end a compound, by their first three letters."""
    runs: Mapping[str, list[str]]
    """Words of scripts without spaces by their first character, longest first."""
    little: Set[str]
    """Articles, possessives and prepositions: phrases are found across them."""
    rules: Mapping[str, tuple[Rule, ...]]
    """By their first group."""
    letters: Mapping[str, int]
    """Letters that few languages have, and which those are."""
    groups: Set[str]
    """The roles that the rules are made of."""
    head_first: int
    """Languages that put the head noun first: "longueur du mot de passe"."""
    stacking: int
    """Languages in which a noun that follows is the head: "password strategy"."""

    def knows(self, word: str) -> bool:
        """Whether the word, or what it is a form of, is there: by itself or inside a phrase."""
        in_phrases = word in self.phrases or word in self.beginnings or word in self.others
        return in_phrases or any(True for _ in self.forms_of(word))

    def forms_of(self, word: str) -> Iterator[str]:
        """The entries with a star that the word may be a form of, longest first."""
        if len(word) > LONGEST_WORD:
            return
        for length in range(len(word), 2, -1):
            stem, ending = word[:length], word[length:]
            longest = min(self.stems.get(stem, -1), length)
            if len(ending) <= longest and not (ending and (ending.isdigit() or self.is_head(ending))):
                yield stem + "*"

    def is_head(self, word: str) -> bool:
        """Whether the word turns a secret before it into something else, as "length" does."""
        entries = (self.phrases.get(form, NOTHING) for form in (word, word + "*"))
        return any("head" in entry.roles for entry in entries)

    def names_secret(self, word: str) -> bool:
        """Whether the word by itself names a secret and takes endings."""
        return bool(self.phrases.get(word + "*", NOTHING).senses)

    def always_names_secret(self, word: str) -> bool:
        """Whether the word, or what it is a form of, names a credential and nothing else."""
        entries = (self.phrases.get(form, NOTHING) for form in (word, *self.forms_of(word)))
        senses = (sense for entry in entries for sense in entry.senses)
        return any(sense.strength == "strong" and sense.kind != "personal_data" for sense in senses)


@lru_cache(maxsize=1)
def lexicon() -> Lexicon:
    """The lexicon. Its file is read here, once, at the first form that is judged."""
    return load(json.loads(files(__package__).joinpath(COMPILED).read_text("utf-8")))


def load(data: dict[str, Any]) -> Lexicon:
    """The lexicon from its compiled form, where phrases share what they do by number."""
    entries = [_entry(**entry) for entry in data["entries"]]
    rules = [Rule(kind, first, tuple(others), *rest) for kind, first, others, *rest in data["rules"]]
    return Lexicon(
        phrases={phrase: entries[number] for phrase, number in data["phrases"].items()},
        beginnings=frozenset(data["beginnings"]),
        others=frozenset(data["others"]),
        stems=data["stems"],
        inner=data["inner"],
        runs=data["runs"],
        little=frozenset(data["little"]),
        rules=_by_first(rules),
        groups=frozenset(group for rule in rules for group in (rule.first, *rule.others)),
        letters=data["letters"],
        head_first=data["head_first"],
        stacking=data["stacking"],
    )


def _by_first(rules: Iterable[Rule]) -> dict[str, tuple[Rule, ...]]:
    groups: dict[str, tuple[Rule, ...]] = {}
    for rule in rules:
        groups[rule.first] = (*groups.get(rule.first, ()), rule)
    return groups


def _entry(
    roles: dict[str, int], senses: Sequence[Sequence[Any]] = (), spares: Sequence[str] = (), **rest: Any
) -> Entry:
    return Entry(roles, tuple(Sense(*sense) for sense in senses), spares=tuple(spares), **rest)
