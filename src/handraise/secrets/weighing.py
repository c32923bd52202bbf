"""How much all words of a question together speak for a secret, where no rule knows the wording.

The rules name what they find. New wording is what they miss: "the thing you change every 90 days and IT tells you not
to reuse". Each word, and each role that a word plays, has a weight in `weights.json`: above zero it is more common in
questions that ask for a secret, below zero in harmless ones. `tests/secrets/learn.py` counts them in the labelled sets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Set
from functools import lru_cache
from importlib.resources import files
from math import sqrt
from typing import Final, NamedTuple

from handraise.secrets.reading import Reading

WEIGHTS: Final = "weights.json"
SUSPICIOUS: Final = 1.3
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
    bias, weights = _weights()
    known = [feature for feature in features_of(readings) if feature in weights]
    total = bias + sum(weights[feature] for feature in known) / sqrt(len(known) + DAMPING)
    if total < min(SUSPICIOUS, CERTAIN):
        return Weighed(total, "password", ())
    heaviest = sorted(known, key=lambda feature: (-weights[feature], feature))[:_HEAVIEST]
    return Weighed(total, _kind(readings), tuple(feature.strip("[]") for feature in heaviest))


def features_of(readings: Iterable[Reading]) -> Set[str]:
    """The words of some texts, and their roles in brackets."""
    return frozenset().union(*(reading.features for reading in readings))


def _kind(readings: Iterable[Reading]) -> str:
    roles = frozenset().union(*(reading.roles for reading in readings))
    return next((kind for kind, about in _ABOUT if not about.isdisjoint(roles)), "password")


@lru_cache(maxsize=1)
def _weights() -> tuple[float, dict[str, float]]:
    """The weights. Their file is read here, once, at the first form that is judged."""
    kept = json.loads(files(__package__).joinpath(WEIGHTS).read_text("utf-8"))
    return kept["bias"], kept["weights"]
