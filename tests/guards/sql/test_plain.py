"""Texts that need not be parsed: parsed, they say the same."""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time

import duckdb
import pytest
from sqlglot.dialects.dialect import Dialect
from tests.guards.sql.statements import PLAIN, nearly_plain
from tests.guards.sql.test_approving import TABLES, VIEWS
from tests.guards.sql.test_corpus import CATALOGUE, CORPUS, SCHEMA

from handraise.guards.sql import Catalogue, Relation, Schema
from handraise.guards.sql.parsing import MAX_TEXT, Unreadable, Words, split
from handraise.guards.sql.plain import plainly_reached
from handraise.guards.sql.reading import Reader, Reading

pytestmark = pytest.mark.shows("U4")

DIALECTS = ["duckdb", "postgres", "trino"]
MANY = 1500


def plainly(text: str, dialect: str = "duckdb", schema: Schema = SCHEMA) -> Reading | None:
    """What its words say, when they say all."""
    tables = plainly_reached(split(text, dialect), schema, CATALOGUE.personal)
    return None if tables is None else Reading(("read",), (), tables, ())


def parsed(text: str, dialect: str) -> Reading | None:
    """What it says when it is parsed."""
    try:
        return Reader(dialect, SCHEMA, CATALOGUE).read_parsed(split(text, dialect))
    except Unreadable:
        return None


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(TABLES + VIEWS)
        yield connection


def runs(engine: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Whether the engine knows what it means."""
    try:
        engine.execute(f"EXPLAIN {text}")
    except duckdb.Error:
        return False
    return True


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", PLAIN)
def test_what_models_write_need_not_be_parsed(text: str, dialect: str) -> None:
    reading = plainly(text, dialect)
    assert reading is not None
    assert reading == parsed(text, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_statement_of_the_corpus_says_something_else_when_it_is_parsed(dialect: str) -> None:
    for text in (case["text"] for case in CORPUS if dialect in case.get("on", DIALECTS)):
        try:
            reading = plainly(text, dialect)
        except Unreadable:
            continue
        assert reading in (None, parsed(text, dialect)), text


@pytest.mark.slow
def test_nothing_that_runs_says_something_else_when_it_is_parsed(engine: duckdb.DuckDBPyConnection) -> None:
    agreed = 0
    for text in nearly_plain(20260728, MANY):
        try:
            reading = plainly(text)
        except Unreadable:
            continue
        if reading is None:
            continue
        if reading == parsed(text, "duckdb"):
            agreed += 1
        else:
            assert not runs(engine, text), text
    assert agreed > MANY / 10


@pytest.mark.parametrize(
    "text",
    [
        "SELECT email FROM people",
        "SELECT * FROM people",
        "SELECT p.* FROM people p",
        "SELECT id, p FROM people p",
        "SELECT count(p) FROM people p",
        "SELECT people FROM people",
        "SELECT id AS p FROM people p ORDER BY p",
        "SELECT p.avg(id) FROM people p",
        "SELECT p.row_to_json FROM people p",
        "SELECT p.id.x FROM people p",
        "SELECT p.o.id FROM people p JOIN orders o ON o.id = p.id",
        "SELECT x.id FROM people p",
        "SELECT min(*) FROM people",
        "SELECT min(*) FROM orders",
        "SELECT o.* FROM orders o JOIN people p ON p.id = o.id",
        "SELECT id, * FROM people",
        "SELECT (id) * FROM people",
        "SELECT (*) FROM people",
        "SELECT 1, people.*, 1 FROM people",
        "SELECT * EXCLUDE (email) FROM people",
        "SELECT rank() OVER (ORDER BY email) FROM people",
        "SELECT rank() OVER (PARTITION BY p) FROM people p",
        "SELECT id::regclass FROM people",
        "SELECT DISTINCT ON (id) * FROM people",
        "SELECT id FROM people NATURAL JOIN orders",
        "SELECT id FROM people JOIN orders USING (name)",
        "SELECT a FROM people AS p(a)",
        "SELECT id FROM contacts",
        "SELECT id FROM elsewhere",
        "SELECT id FROM main.people",
        "SELECT id FROM people, orders",
        "SELECT id FROM 'people.csv'",
        "SELECT id FROM people WHERE id IN (FROM people)",
        "SELECT id FROM people WHERE id IN (SELECT email FROM people)",
        "WITH people AS (SELECT 1 AS id FROM people) SELECT id FROM people",
        "WITH c AS (SELECT p FROM people p) SELECT c.p FROM c",
        "SELECT id AS x FROM x",
        "SELECT id FROM orders x JOIN people x ON id = id",
        "SELECT leak(id) FROM people",
        "SELECT id FROM orders leak",
        "SELECT id FROM people WHERE city = 'it''s'",
        r"SELECT id FROM people WHERE city = '\'",
        'SELECT id FROM people WHERE "city" = 1',
        "SELECT id FROM people; SELECT id FROM people",
        "SELECT id FROM people FOR UPDATE",
        "SELECT id INTO x FROM people",
        "SELECT pg_sleep(1) FROM people",
        "SELECT 1",
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_less_plain_is_parsed(text: str, dialect: str) -> None:
    try:
        assert plainly(text, dialect) is None
    except Unreadable:
        assert "it''s" not in text


def test_a_name_that_two_tables_have_is_looked_at_by_the_parser() -> None:
    people = [Relation((schema, "people"), ("id",)) for schema in ("main", "crm")]
    assert plainly("SELECT id FROM people", schema=Schema((people[0],))) is not None
    assert plainly("SELECT id FROM people", schema=Schema(tuple(people))) is None


def test_a_word_of_the_language_can_be_the_name_of_a_personal_column() -> None:
    table = Schema((Relation(("main", "notes"), ("id", "between")),))
    personal = Catalogue({"notes": {"between": ["private"]}}).personal
    words = split("SELECT id FROM notes WHERE id BETWEEN 1 AND 2", "postgres")
    assert plainly_reached(words, table, personal) is None


@pytest.mark.slow
def test_a_text_made_to_be_slow_is_not() -> None:
    began = process_time()
    for part in (
        "(SELECT id FROM people WHERE ",
        "SELECT ",
        "id AS id, ",
        "(",
        "id * id JOIN people ",
        "(*)",
    ):
        many = (MAX_TEXT - 10) // len(part)
        words = Words(
            "",
            Dialect.get_or_raise("duckdb"),
            Dialect.get_or_raise("duckdb").tokenize("SELECT " + part * many),
        )
        assert plainly_reached(words, SCHEMA, CATALOGUE.personal) is None
    assert process_time() - began < 5
