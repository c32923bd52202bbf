"""How much all words of a question together speak for a secret, where no rule knows the wording.

The rules name what they find. New wording is what they miss: "the thing you change every 90 days and IT tells you not
to reuse". Each word, and each role that a word plays, has a weight in `weights.json`: above zero it is more common in
questions that ask for a secret, below zero in harmless ones. `tests/secrets/learn.py` counts them in the labelled sets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from importlib.resources import files
from math import sqrt
from typing import Final, NamedTuple

from handraise.secrets.reading import Reading

WEIGHTS: Final = "weights.json"
SUSPICIOUS: Final = 1.4
"""A question that weighs this much is doubtful."""
CERTAIN: Final = 0.5
"""A question that weighs this much, and that a rule finds doubtful too, asks for a secret without a doubt."""
PLAUSIBLE: Final = -0.6
"""What weighs less asks for no secret, even if a rule finds that its words describe one."""
DAMPING: Final = 12
"""A few heavy words in a short question say less than many."""
_HEAVIEST: Final = 3

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


def weigh(readings: Iterable[Reading]) -> Weighed:
    """Weigh all texts of a question together."""
    readings = list(readings)
    known = _weights()
    words = frozenset().union(*[reading.words for reading in readings])
    roles = frozenset().union(*[reading.roles for reading in readings])
    weighed = [(known.words[word], word) for word in words & known.words.keys()]
    weighed += [(known.roles[role], role) for role in roles & known.roles.keys()]
    total = known.bias + sum([weight for weight, _ in weighed]) / sqrt(len(weighed) + DAMPING)
    if total < PLAUSIBLE:
        return Weighed(total, "password", ())
    heaviest = sorted(weighed, key=lambda each: (-each[0], each[1]))[:_HEAVIEST]
    kind = next((kind for kind, about in _ABOUT if not about.isdisjoint(roles)), "password")
    return Weighed(total, kind, tuple(feature for _, feature in heaviest))


def features_of(readings: Iterable[Reading]) -> Set[str]:
    """The words of some texts, and their roles in brackets, as the file of weights names them."""
    readings = list(readings)
    words = frozenset().union(*[reading.words for reading in readings])
    roles = frozenset().union(*[reading.roles for reading in readings])
    return words.union([f"[{role}]" for role in roles])


class Weights(NamedTuple):
    """The weight of an empty question, and those of words and roles."""

    bias: float
    words: Mapping[str, float]
    roles: Mapping[str, float]


def weights_from(bias: float, weights: Mapping[str, float]) -> Weights:
    """The weights as they are kept, with the names of roles in brackets."""
    words = {name: weight for name, weight in weights.items() if not name.startswith("[")}
    roles = {name.strip("[]"): weight for name, weight in weights.items() if name.startswith("[")}
    return Weights(bias, words, roles)


@lru_cache(maxsize=1)
def _weights() -> Weights:
    """The weights. Their file is read here, once, at the first form that is judged."""
    return weights_from(**json.loads(files(__package__).joinpath(WEIGHTS).read_text("utf-8")))
