"""Links with the verdict that a client should reach, kept in data/*.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handraise.urls import Inspection, UrlVerdict, inspect_url

DATA = Path(__file__).parent / "data"
SETS = (
    "examples",
    "ordinary",
    "schemes",
    "spelling",
    "addresses",
    "names",
    "imitation",
    "parameters",
    "redirects",
)


@dataclass(frozen=True)
class Labelled:
    id: str
    url: str
    context: dict[str, Any]
    verdict: UrlVerdict
    acceptable: frozenset[str]
    reasons: frozenset[str]

    def inspect(self) -> Inspection:
        return inspect_url(self.url, **self.context)


def read_set(name: str) -> list[Labelled]:
    rows = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))["urls"]
    return [
        Labelled(
            id=row["id"],
            url=row["url"],
            context=row["context"],
            verdict=row["verdict"],
            acceptable=frozenset(row["acceptable"]),
            reasons=frozenset(row["reasons"]),
        )
        for row in rows
    ]


def read_all() -> list[Labelled]:
    return [labelled for name in SETS for labelled in read_set(name)]
