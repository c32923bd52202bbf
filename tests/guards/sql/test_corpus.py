"""The corpus: statements with the columns that they reach and what becomes of them, in each dialect."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from handraise.guards.sql import Catalogue, Relation, Schema
from handraise.guards.sql.effects import SqlReader
from handraise.guards.sql.guard import SqlVerdict
from handraise.guards.sql.parsing import UnreadableSql

pytestmark = pytest.mark.shows("U4")

CORPUS: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parents[1] / "data" / "corpus.toml").read_text(encoding="utf-8")
)["statement"]
CATALOGUE = Catalogue(
    {
        "people": {"name": ["identity"], "email": ["contact"], "born": ["identity"], "größe": ["health"]},
        "crm.leads": {"phone": ["contact"]},
    }
)
SCHEMA = Schema(
    (
        Relation(("main", "people"), ("id", "name", "email", "born", "city", "größe")),
        Relation(("main", "orders"), ("id", "person_id", "total", "name")),
        Relation(
            ("main", "contacts"),
            ("id", "contact", "city"),
            "SELECT id, email AS contact, city FROM people",
        ),
        Relation(("main", "cities"), ("city", "n"), "SELECT city, count(*) AS n FROM people GROUP BY city"),
        Relation(("main", "known"), ("id",), "SELECT id FROM people WHERE email IS NOT NULL"),
        Relation(("main", "nested"), ("id", "reach"), "SELECT id, contact AS reach FROM contacts"),
        Relation(
            ("main", "everyone"),
            ("id", "mail", "city"),
            "SELECT id, email AS mail, city FROM (SELECT * FROM people) AS p",
        ),
        Relation(("main", "whole_rows"), ("id", "whole"), "SELECT id, p AS whole FROM people p"),
        Relation(
            ("main", "mixed"), ("city",), "SELECT name AS city FROM people UNION ALL SELECT email FROM people"
        ),
        Relation(("crm", "leads"), ("id", "phone", "note")),
    ),
    frozenset({"leak"}),
)
DIALECTS = ["duckdb", "postgres", "trino"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_corpus_is_large_enough(dialect: str) -> None:
    assert sum(dialect in case.get("on", [dialect]) for case in CORPUS) >= 180


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_statement_is_judged_as_the_corpus_says(dialect: str) -> None:
    cases = [case for case in CORPUS if dialect in case.get("on", DIALECTS)]
    assert [case["text"] for case in cases if not is_as_it_says(case, dialect)] == []


def is_as_it_says(case: dict[str, Any], dialect: str) -> bool:
    """Whether a statement is judged as the corpus says: the columns, the verdict and its reason."""
    verdict = judged(case["text"], dialect)
    if verdict is None:
        return bool(case["verdict"] == "refuse")
    why = case.get("why")
    return (
        [name for name, _ in verdict.columns] == case.get("columns", [])
        and ("ask" if verdict.asks else "run") == case["verdict"]
        and (
            why is None
            or why in verdict.effects.kinds
            or (why == "function" and bool(verdict.effects.functions))
        )
    )


def judged(text: str, dialect: str) -> SqlVerdict | None:
    """The verdict about a statement that costs nothing; None when it is refused."""
    try:
        reading = SqlReader(dialect, SCHEMA, CATALOGUE).read(text)
    except UnreadableSql:
        return None
    return SqlVerdict(reading, None, 1_000_000)
