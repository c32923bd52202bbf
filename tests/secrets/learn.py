"""Learn what each word speaks for in the labelled sets: `python -m tests.secrets.learn` writes `weights.json`.

The weights are those of a logistic regression over the words, pairs of words, roles and traits of each call. They make
the figures of the sets that they were learned from look better than a stranger's forms will. For an honest figure of
one set, learn from `examples` of the others.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, get_args

from tests.secrets.hostile import HELD_OUT, Asked, Half, calls
from tests.secrets.labelled import DATA, long_sentences, open_examples, own_forms, own_phrases, sentences

from handraise.forms import Field, Text
from handraise.secrets import weighing
from handraise.secrets.reading import read
from handraise.secrets.weighing import DAMPING, Features, Weights, features_of

_ROUNDS: Final = 25
_SETTLED: Final = 8
"""The weights are the mean of those after this round: the last ones depend on the order of the calls."""
_STEP: Final = 3.0
_DECAY: Final = 3e-4
_RAREST: Final = 3
"""A feature of fewer calls is left out."""
_LIGHTEST: Final = 0.45
"""A smaller weight is left out."""

_LIKE_NEW: Final = 3.0
"""How much a call counts that strangers wrote, or that we wrote in their tone: new forms will be most like these."""
_PHRASES: Final = 0.1
"""How much a bare phrase counts."""

_WITH_ADDED: Final = 0.5
"""The share of calls that are learned once more, with harmless text around them.

A hostile server adds such text, and an honest one explains itself. Without this, the little words of long messages
would look suspicious, and every other word would speak for a harmless question.
"""
_ADDED_COUNTS: Final = 0.5
"""How much such a call counts, compared with the call itself."""

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
    halves = list(halves)
    around = [
        call.questions[0] for half in halves for call in calls("harmless", half) if len(call.questions) == 1
    ]
    for half in halves:
        for label in ("asking", "harmless"):
            for call in calls(label, half):
                questions = [(asked.message, list(asked.form.fields)) for asked in call.questions]
                weight = _LIKE_NEW if half.startswith(("strangers", "probes2")) else 1.0
                yield Example(_placed(features_of(questions)), label == "asking", weight)
                if draw.random() < _WITH_ADDED:
                    questions[0] = _surrounded(draw, *questions[0], draw.choice(around))
                    yield Example(_placed(features_of(questions)), label == "asking", weight * _ADDED_COUNTS)


def _surrounded(
    draw: random.Random, message: str, fields: list[Field], harmless: Asked
) -> tuple[str, list[Field]]:
    """A question with a long sentence in its language, the message of another question, or that one's fields."""
    match draw.choice(("sentence", "sentence", "message", "fields")):
        case "sentence":
            added = draw.choice(_in_its_language(" ".join([message, *(each.title or "" for each in fields)])))
        case "message":
            added = harmless.message
        case _:
            return message, draw.choice(([*fields, *harmless.form.fields], [*harmless.form.fields, *fields]))
    return draw.choice((f"{added} {message}", f"{message} {added}")), fields


def _in_its_language(text: str) -> list[str]:
    """Long harmless sentences in the language that shares the most words with a text, or else the most letters."""
    words, letters = set(read(text).words), set(text)

    def shared(lines: list[str]) -> tuple[int, int]:
        return len(words & _words_of(" ".join(lines))), len(letters & set("".join(lines)))

    return max(long_sentences().values(), key=shared)


@cache
def _words_of(text: str) -> frozenset[str]:
    return frozenset(read(text).words)


def own_examples() -> Iterator[Example]:
    """The forms that are labelled field by field, and sentences of many languages as messages and titles."""
    for lines in long_sentences().values():
        for line in lines:
            yield Example(_placed(features_of([(line, [Text("value")])])), asks=False)
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
    biases, sums = 0.0, dict.fromkeys(weights, 0.0)
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
        if number >= _SETTLED:
            biases += bias
            for feature, weight in weights.items():
                sums[feature] += weight
    counted = _ROUNDS - _SETTLED
    return biases / counted, {feature: total / counted for feature, total in sums.items()}


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


def fingerprint() -> str:
    """A digest of what the weights are made from, and of the weights."""
    kept = Path(weighing.__file__).parent
    made_from = [
        Path(__file__),
        kept / "lexicon.json",
        *sorted(DATA.rglob("*.txt")),
        *sorted(DATA.rglob("*.json")),
    ]
    digest = hashlib.sha256()
    for path in [*made_from, kept / weighing.WEIGHTS]:
        digest.update(f"{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
    return digest.hexdigest()


FINGERPRINT: Final = DATA / "weights.sha256"
"""The digest when the weights were last learned."""


if __name__ == "__main__":
    known = [*examples(), *own_examples()]
    (Path(weighing.__file__).parent / weighing.WEIGHTS).write_text(
        written(weights_of(*learned(known))), "utf-8"
    )
    FINGERPRINT.write_text(f"{fingerprint()}\n", "utf-8")
