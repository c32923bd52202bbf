"""Learn what each word speaks for in the labelled sets: `python -m tests.secrets.learn` writes `weights.json`.

The weights are those of a logistic regression over the words, pairs of words, roles and traits of each call. They make
the figures of the sets that they were learned from look better than a stranger's forms will. For an honest figure of
one set, learn from `examples` of the others.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, get_args

from tests.secrets.hostile import HELD_OUT, Half, calls
from tests.secrets.labelled import open_examples, own_forms, own_phrases, sentences

from handraise.secrets import weighing
from handraise.secrets.weighing import DAMPING, Features, Weights, features_of

_ROUNDS: Final = 25
_STEP: Final = 3.0
_DECAY: Final = 3e-4
_RAREST: Final = 3
"""A feature of fewer calls is left out."""
_LIGHTEST: Final = 0.3
"""A smaller weight is left out."""

_LIKE_NEW: Final = 3.0
"""How much a call counts that strangers wrote, or that we wrote in their tone: new forms will be most like these."""
_PHRASES: Final = 0.1
"""How much a bare phrase counts."""

_ADDED: Final = (
    "\nWhy: This is what the team has agreed on, so that nobody has to look it up again.",
    "\nWhy: The report is due on Friday and it would be wrong without that.",
    "\nWhy: You asked for it yesterday, and there were two that fit.",
    "\nIf you decline: Everything stays as it was, and the call ends there without a change.",
    "\nIf you decline: It is left out, and I go on with the rest of what you gave me.",
    "\nIf you decline: No message is sent, and you are told when it is time to do it by hand.",
)
"""Servers add such sentences to a message. Without them, the little words of a long message would look suspicious."""
_WITH_ADDED: Final = 0.35
"""The share of calls that are learned once more, with such a sentence."""

Place = tuple[str, str]
"""Where a feature stands, and what it is."""


class Example(NamedTuple):
    """One call, and whether it asks for a secret."""

    features: list[Place]
    asks: bool
    weight: float = 1.0
    """How much it counts."""


LEARNED: Final = tuple(half for half in get_args(Half) if half not in HELD_OUT)


def examples(halves: Iterable[Half] = LEARNED) -> Iterator[Example]:
    """All labelled calls and forms of these sets."""
    draw = random.Random(3)
    for half in halves:
        for label in ("asking", "harmless"):
            for call in calls(label, half):
                questions = [(asked.message, asked.form.fields) for asked in call.questions]
                weight = _LIKE_NEW if half.startswith(("strangers", "probes2")) else 1.0
                yield Example(_placed(features_of(questions)), label == "asking", weight)
                if draw.random() < _WITH_ADDED:
                    message, fields = questions[0]
                    questions[0] = message + draw.choice(_ADDED), fields
                    yield Example(_placed(features_of(questions)), label == "asking")


def own_examples() -> Iterator[Example]:
    """The forms that are labelled field by field, and sentences of many languages as messages and titles."""
    forms, phrases = [*open_examples(), *own_forms()], [*own_phrases(), *sentences()]
    for weight, labelled in ((1.0, forms), (_PHRASES, phrases)):
        for each in labelled:
            if each.tier != 2:
                features = features_of([(each.message, each.form.fields)])
                yield Example(_placed(features), each.tier == 1, weight)


def _placed(features: Features) -> list[Place]:
    return sorted((place, feature) for place in features._fields for feature in getattr(features, place))


def learned(known: Iterable[Example]) -> tuple[float, dict[Place, float]]:
    """The weight of an empty question, and of every feature."""
    known = list(known)
    seen = Counter(feature for example in known for feature in example.features)
    kept = [
        ([feature for feature in example.features if seen[feature] >= _RAREST], example.asks, example.weight)
        for example in known
    ]
    weights = dict.fromkeys(sorted(feature for feature in seen if seen[feature] >= _RAREST), 0.0)
    bias, order = 0.0, random.Random(1)
    for number in range(_ROUNDS):
        order.shuffle(kept)
        step = _STEP / (1 + 0.3 * number)
        for features, asks, counts in kept:
            length = math.sqrt(len(features) + DAMPING)
            total = bias + sum([weights[feature] for feature in features]) / length
            error = (1 / (1 + math.exp(-max(-30.0, min(30.0, total)))) - asks) * step * counts
            bias -= error
            for feature in features:
                weights[feature] -= error / length + step * _DECAY * weights[feature]
    return bias, weights


def weights_of(bias: float, weights: dict[Place, float]) -> Weights:
    """The weights as they are kept: by place, the heaviest first."""
    heaviest = sorted(weights.items(), key=lambda each: (-each[1], each[0]))
    heavy = [(place, round(weight, 2)) for place, weight in heaviest if abs(weight) >= _LIGHTEST]
    tables = {
        name: {feature: weight for (place, feature), weight in heavy if place == name}
        for name in Features._fields
    }
    return Weights(round(bias, 2), **tables)


def written(weights: Weights) -> str:
    """The file: one feature a line."""
    return json.dumps(weights._asdict(), ensure_ascii=False, indent=0) + "\n"


if __name__ == "__main__":
    known = [*examples(), *own_examples()]
    (Path(weighing.__file__).parent / weighing.WEIGHTS).write_text(
        written(weights_of(*learned(known))), "utf-8"
    )
