"""Forms and phrases with the label that an honest reader gives them, kept in tests/secrets/data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from handraise.forms import Form, Text, parse_form
from handraise.revisions import Revision
from handraise.secrets import SecretFinding, judge_form

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Labelled:
    id: str
    language: str
    tier: int | None
    """1: must be refused. 2: at least a warning. None: asks for no secret."""
    message: str
    form: Form[Any]
    secret_fields: frozenset[str]

    def judge(self) -> tuple[SecretFinding, ...]:
        return judge_form(self.message, self.form)


@dataclass(frozen=True)
class Score:
    missed: list[str]
    asked: int
    alarmed: list[str]
    harmless: int

    @property
    def recall(self) -> float:
        return 1 - len(self.missed) / max(1, self.asked)

    @property
    def false_alarms(self) -> float:
        return len(self.alarmed) / max(1, self.harmless)


def score(forms: Iterable[Labelled]) -> Score:
    """Recall of credentials and payment data, and alarms on forms that ask for no secret."""
    judged = [(each, each.judge()) for each in forms]
    asking = [(each, found) for each, found in judged if each.tier == 1]
    harmless = [(each, found) for each, found in judged if each.tier is None]
    return Score(
        [each.id for each, found in asking if not any(finding.tier == 1 for finding in found)],
        len(asking),
        [each.id for each, found in harmless if found],
        len(harmless),
    )


def open_examples() -> list[Labelled]:
    return [_labelled(item) for item in _load("secret_forms.json")["items"]]


def own_forms() -> list[Labelled]:
    paths = sorted((DATA / "forms").glob("*.json"))
    return [_labelled(item) for path in paths for item in _load(f"forms/{path.name}")]


def languages() -> dict[str, tuple[list[str], list[str]]]:
    """Sentences that ask for a secret and harmless ones, by language."""
    text = (DATA / "languages.txt").read_text("utf-8")
    found = re.findall(r"(?m)^\[(\w+)\]\n(.+)\n(.+)$", text)
    return {language: (asking.split("; "), harmless.split("; ")) for language, asking, harmless in found}


@cache
def long_sentences() -> dict[str, list[str]]:
    """Long harmless sentences, as servers write them around their questions, by language."""
    text = (DATA / "long_harmless.txt").read_text("utf-8")
    parts = (each.split("]\n") for each in text.split("[")[1:])
    return {language: lines.split("\n")[:-1] for language, lines in parts}


def sentences() -> Iterator[Labelled]:
    """Each of them as a message over a field that says nothing, and as the title of a field."""
    for language, both in languages().items():
        for tier, texts in zip((1, None), both, strict=True):
            for text in texts:
                for message, title in ((text, None), ("", text)):
                    form = Form.by_hand(Text("value", title=title))
                    yield Labelled(text, language, tier, message, form, frozenset())


def own_phrases() -> Iterator[Labelled]:
    """Titles of a field, and messages over a field that says nothing."""
    for language, sets in _load("phrases.json").items():
        for what, labels in sets.items():
            for label, phrases in labels.items():
                for number, phrase in enumerate(phrases):
                    title, message = (phrase, "") if what == "titles" else (None, phrase)
                    form = Form.by_hand(Text("value", title=title))
                    tier = 1 if label == "secret" else None
                    yield Labelled(
                        f"{language}-{what}-{label}-{number}", language, tier, message, form, frozenset()
                    )


def _labelled(item: dict[str, Any]) -> Labelled:
    request = item["request"]
    return Labelled(
        item["id"],
        item["lang"],
        item["tier"],
        request["message"],
        parse_form(request["requestedSchema"], Revision.NOVEMBER_2025),
        frozenset(name for name, label in item["fields"].items() if label == "secret"),
    )


def _load(name: str) -> Any:
    return json.loads((DATA / name).read_text(encoding="utf-8"))
