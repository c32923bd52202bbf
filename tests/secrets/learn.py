"""Count what each word speaks for in the labelled sets: `python -m tests.secrets.learn` writes `weights.json`.

The weights are those of a logistic regression over the words and roles of each call. They make the figures of the sets
that they were learned from look better than a stranger's forms will. For an honest figure of one set, learn from
`examples` of the others.
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
from tests.secrets.labelled import open_examples, own_forms

from handraise.secrets import weighing
from handraise.secrets.judge import readings_of
from handraise.secrets.weighing import DAMPING, features_of

_ROUNDS: Final = 25
_STEP: Final = 0.2
_DECAY: Final = 1e-3
_RAREST: Final = 2
"""A word that is in fewer calls is left out."""


class Example(NamedTuple):
    """One call, and whether it asks for a secret."""

    features: list[str]
    asks: bool


LEARNED: Final = tuple(half for half in get_args(Half) if half != HELD_OUT)


def examples(halves: Iterable[Half] = LEARNED) -> Iterator[Example]:
    """All labelled calls and forms of these sets."""
    for half in halves:
        for label in ("asking", "harmless"):
            for call in calls(label, half):
                readings = [
                    each for asked in call.questions for each in readings_of(asked.message, asked.form)
                ]
                yield Example(sorted(features_of(readings)), label == "asking")
    for each in (*open_examples(), *own_forms()):
        if each.tier != 2:
            yield Example(sorted(features_of(readings_of(each.message, each.form))), each.tier == 1)


def learned(known: Iterable[Example]) -> tuple[float, dict[str, float]]:
    """The weight of an empty question, and of every feature."""
    known = list(known)
    seen = Counter(feature for example in known for feature in example.features)
    kept = [
        ([feature for feature in example.features if seen[feature] >= _RAREST], example.asks)
        for example in known
    ]
    weights = dict.fromkeys(sorted(feature for feature in seen if seen[feature] >= _RAREST), 0.0)
    bias, order = 0.0, random.Random(1)
    for number in range(_ROUNDS):
        order.shuffle(kept)
        step = _STEP / (1 + 0.3 * number)
        for features, asks in kept:
            length = math.sqrt(len(features) + DAMPING)
            total = bias + sum(weights[feature] for feature in features) / length
            error = (1 / (1 + math.exp(-max(-30.0, min(30.0, total)))) - asks) * step
            bias -= error
            for feature in features:
                weights[feature] -= error / length + step * _DECAY * weights[feature]
    return bias, weights


def written(bias: float, weights: dict[str, float]) -> str:
    """The file as it is kept: the heaviest first, one a line."""
    rounded = {feature: round(weight, 2) for feature, weight in weights.items() if abs(weight) >= 0.05}
    ordered = dict(sorted(rounded.items(), key=lambda each: (-each[1], each[0])))
    return json.dumps({"bias": round(bias, 2), "weights": ordered}, ensure_ascii=False, indent=0) + "\n"


if __name__ == "__main__":
    (Path(weighing.__file__).parent / weighing.WEIGHTS).write_text(written(*learned(examples())), "utf-8")
