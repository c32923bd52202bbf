"""How much all words of a question together speak for a secret, where no rule knows the wording.

The rules name what they find. New wording is what they miss: "the thing you change every 90 days and IT tells you not
to reuse". Each word, each pair of words, each role that a word plays and each trait of a field has a weight in
`weights.json`: above zero it is more common in questions that ask for a secret, below zero in harmless ones.
`tests/secrets/learn.py` learns them from the labelled sets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from importlib.resources import files
from math import sqrt
from typing import Final, NamedTuple

from handraise.forms import UNSET, Choice, Choices, Field, Text
from handraise.secrets.reading import Mention, Reading, read
from handraise.secrets.shape import digits_of

WEIGHTS: Final = "weights.json"
SUSPICIOUS: Final = 2.2
"""A question that weighs this much is doubtful."""
SURE: Final = 2.8
"""A question that weighs this much asks for a secret without a doubt, whatever the names of its fields say."""
POSSIBLE: Final = -0.45
"""What weighs less asks for no secret, even if a word names one: a "card number" among ten business cards."""
ALONE: Final = 2.4
"""A message and one field alone must weigh so much more."""
APART: Final = 1.2
"""A sentence and one field must weigh so much more than a whole question."""
GOING_ON: Final = -2.0
"""A question that goes on about an earlier one says little: with that one, it must weigh no more than this."""
DAMPING: Final = 12
"""A few heavy words in a short question say less than many."""
MANY_OPTIONS: Final = 20
"""So many options of a choice are read."""
_LONGEST_COUNTED: Final = 40
"""All longer texts are alike."""
_HEAVIEST: Final = 3
_PAUSE: Final = re.compile(r"[.!?…:;,،|–—]+(?:\s+|$)|[。！？।、，：；]+\s*|\n+")
_HEAVIEST_CLAUSES: Final = 8
"""So many clauses are weighed with each field."""
_LITTLE: Final = 3

_ABOUT: Final = (
    ("seed_phrase", frozenset({"wallet app", "coins", "some words"})),
    ("card_number", frozenset({"card", "paying"})),
    ("otp", frozenset({"delivered", "just delivered", "arrived", "gadget", "in message", "two steps"})),
    ("private_key", frozenset({"key file", "key pair", "from begin", "dashes"})),
    ("token", frozenset({"provider", "platform", "console", "cookie", "tools", "make one", "authorization"})),
)
"""What a suspicious question is about, by the roles of its words. All others are about a password."""


class Weighed(NamedTuple):
    """The weight of a question, and what it rests on."""

    total: float
    kind: str
    words: tuple[str, ...]
    """The heaviest words and roles."""


class Features(NamedTuple):
    """All that has a weight, by the place where it stands."""

    words: Set[str]
    """Words of all texts, and pairs of words that follow each other."""
    roles: Set[str]
    label_words: Set[str]
    """Words of the names of fields, which say what a person answers."""
    label_roles: Set[str]
    last_words: Set[str]
    """Words of the last of several questions."""
    last_roles: Set[str]
    traits: Set[str]
    """What kinds of fields there are."""


class Weights(NamedTuple):
    """The weight of an empty question, and those of all features."""

    bias: float
    words: Mapping[str, float]
    roles: Mapping[str, float]
    label_words: Mapping[str, float]
    label_roles: Mapping[str, float]
    last_words: Mapping[str, float]
    last_roles: Mapping[str, float]
    traits: Mapping[str, float]


_DENIED: Final = "denies"
"""Stands among the roles for a text that denies something."""
_NOTHING: Final[Set[str]] = frozenset()


def features_of(questions: Sequence[tuple[str, Iterable[Field]]]) -> Features:
    """The features of the questions of one call: their messages and fields."""
    texts: list[Reading] = []
    labels: list[Reading] = []
    traits: set[str] = set()
    last = 0
    for message, fields in questions:
        last = len(texts)
        texts.append(read(message))
        for field in fields:
            label = read(field.title or field.name)
            labels.append(label)
            texts += (label, *_readings_below(field))
            traits.update(_traits(field))
    several = len(questions) > 1
    return Features(
        _words(texts).union(*[reading.pairs for reading in texts]),
        _roles(texts),
        _words(labels),
        _roles(labels),
        _words(texts[last:]) if several else _NOTHING,
        _roles(texts[last:]) if several else _NOTHING,
        traits,
    )


def _words(readings: list[Reading]) -> frozenset[str]:
    return frozenset().union(*[reading.words for reading in readings])


def _roles(readings: list[Reading]) -> frozenset[str]:
    """All roles, what is named, and whether something is denied."""
    named = [f"{_how(mention)} {mention.kind}" for reading in readings for mention in reading.mentions]
    roles = frozenset(named).union(*[reading.roles for reading in readings])
    return roles | {_DENIED} if any(reading.denies for reading in readings) else roles


def _how(mention: Mention) -> str:
    if mention.part:
        return "part of"
    if mention.described:
        return "describes"
    if not mention.firm:
        return "may name"
    return "asks for" if mention.asked else "names"


def _readings_below(field: Field) -> Iterator[Reading]:
    if field.description:
        yield read(field.description)
    if isinstance(field, Choice | Choices):
        yield from (read(option.label) for option in field.options[:MANY_OPTIONS])
    elif isinstance(field, Text) and field.default is not UNSET:
        yield read(str(field.default))


def _traits(field: Field) -> Iterator[str]:
    """What kind of a field it is, and how long an answer may be."""
    yield type(field).__name__
    if isinstance(field, Text):
        if field.pattern is not None:
            yield "pattern"
            if size := digits_of(field, _NOTHING):
                yield f"pattern of {size[1]} digits"
        if field.max_length:
            yield f"up to {min(field.max_length, _LONGEST_COUNTED)}"
        if field.format is not None:
            yield field.format
        if field.default is not UNSET:
            yield "default"
        if not field.title:
            yield "no title"


def weigh(questions: Sequence[tuple[str, Iterable[Field]]]) -> Weighed:
    """Weigh all texts of the questions of a call together."""
    return weighed(features_of(questions), _weights())


def weigh_apart(message: str, fields: Iterable[Field]) -> dict[str | None, tuple[float, str]]:
    """The weight of each field with one clause of the message only, and that clause; of None for no field.

    The attack: harmless sentences and fields around a question for a secret, which outweigh it.
    """
    weights = _weights()
    clauses = [each for each in _PAUSE.split(message) if each] or [message]
    said = {each: _found(features_of([(each, ())]), weights) for each in clauses}
    heaviest = sorted(said, key=lambda each: sum(said[each]), reverse=True)[:_HEAVIEST_CLAUSES]
    asked: dict[str | None, list[float]] = {None: []}
    asked.update((field.name, _found(features_of([("", (field,))]), weights)) for field in fields)
    return {
        name: max((_total(weights.bias, [*said[each], *found]), each) for each in heaviest)
        for name, found in asked.items()
    }


def _found(features: Features, weights: Weights) -> list[float]:
    return [
        table[feature]
        for present, table in zip(features, weights[1:], strict=True)
        for feature in present
        if feature in table
    ]


def _total(bias: float, found: list[float]) -> float:
    return bias + sum(found) / sqrt(len(found) + DAMPING)


def weighed(features: Features, weights: Weights) -> Weighed:
    """Add the weights up."""
    total = _total(weights.bias, _found(features, weights))
    tables = [*zip(features, weights[1:], strict=True)]
    if total < SUSPICIOUS:
        return Weighed(total, "password", ())
    said = {*features.roles, *(word for word in features.words if _may_be_told(word))}
    heavy = {(feature, table.get(feature, 0.0)) for present, table in tables for feature in present & said}
    heaviest = [feature for feature, _ in sorted(heavy, key=_heaviest_first)]
    kind = next((kind for kind, about in _ABOUT if not about.isdisjoint(features.roles)), "password")
    return Weighed(total, kind, tuple(dict.fromkeys(heaviest))[:_HEAVIEST])


def _may_be_told(word: str) -> bool:
    """Whether it is one word, and no little one."""
    return " " not in word and (len(word) > _LITTLE or not word.isascii())


def _heaviest_first(found: tuple[str, float]) -> tuple[float, str]:
    return -found[1], found[0]


@lru_cache(maxsize=1)
def _weights() -> Weights:
    """The weights. Their file is read here, once, at the first form that is judged."""
    return Weights(**json.loads(files(__package__).joinpath(WEIGHTS).read_text("utf-8")))
