"""DuckDB's plan and catalogue: what they say is all taken, and what they do not say is the most that it can be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from handraise.guards.sql import Catalogue, DuckDB, SqlGuard
from handraise.guards.sql.on_duckdb import parse_plan

pytestmark = [pytest.mark.anyio, pytest.mark.shows("U4")]


@pytest.fixture
def engine() -> Iterator[DuckDB]:
    with duckdb.connect() as connection:
        connection.execute("""
            CREATE TABLE people(id INT, "e.mail" TEXT, city TEXT); CREATE TABLE orders(id INT, total INT);
            INSERT INTO people SELECT i, 'x', 'y' FROM range(1000) t(i);
            INSERT INTO orders SELECT i, i FROM range(3000) t(i);
            CREATE SCHEMA crm; CREATE VIEW crm.cities AS SELECT city FROM people;
            CREATE TABLE stays(id INT, guest STRUCT(email TEXT), twice INT GENERATED ALWAYS AS (id * 2));
            CREATE VIEW guests AS SELECT guest FROM stays;
            CREATE MACRO leak(x) AS x
        """)
        yield DuckDB(connection)


def step(name: str, *children: dict[str, Any], **said: Any) -> dict[str, Any]:
    info = {key.replace("_", " "): value for key, value in said.items()}
    return {"name": name, "children": [*children], "extra_info": info}


@pytest.mark.parametrize(
    ("plan", "rows"),
    [
        (step("SCAN", Estimated_Cardinality="7"), 7),
        (step("SORT", step("SCAN", Estimated_Cardinality="9"), Estimated_Cardinality="3"), 9),
        (step("SORT", step("SCAN", Estimated_Cardinality="3"), Estimated_Cardinality="9"), 9),
        (step("SORT", step("A", Estimated_Cardinality="3"), step("B", Estimated_Cardinality="4")), 4),
        (
            step("CROSS_PRODUCT", step("A", Estimated_Cardinality="3"), step("B", Estimated_Cardinality="4")),
            12,
        ),
        (step("X_JOIN", step("A", Estimated_Cardinality="3"), step("B", Estimated_Cardinality="4")), 12),
        (
            step(
                "X_JOIN",
                step("A", Estimated_Cardinality="3"),
                step("S", step("B", Estimated_Cardinality="4")),
            ),
            12,
        ),
        (step("X_JOIN", step("A", Estimated_Cardinality="3"), Estimated_Cardinality="0"), 3),
        ({"name": "EMPTY", "extra_info": None, "children": None}, 0),
        ({"name": "EMPTY"}, 0),
    ],
)
def test_the_most_rows_of_any_step_count_and_a_product_is_what_goes_in(
    plan: dict[str, Any], rows: int
) -> None:
    for text in (json.dumps(plan), json.dumps([plan])):
        assert parse_plan(text).rows == rows


def test_tables_and_columns_of_every_step_are_found() -> None:
    several = step("SCAN", Table='"my db".main."people"', Projections=["id", "email", ""])
    single = step("SCAN", Table="orders", Projections="total")
    estimate = parse_plan(json.dumps(step("TOP", several, step("SUB", single, step("SCAN", Table="none")))))
    people = ("my db", "main", "people")
    assert estimate.tables == {people, ("orders",), ("none",)}
    assert estimate.columns == {(people, "id"), (people, "email"), (("orders",), "total")}


async def test_real_plans_have_what_is_looked_for(engine: DuckDB) -> None:
    plain = await engine.estimate('SELECT "e.mail" FROM people')
    assert [path[-1] for path in plain.tables] == ["people"]
    assert [column for _, column in plain.columns] == ["e.mail"]
    assert plain.rows == 1000
    assert (await engine.estimate("SELECT count(*) FROM people, orders")).rows == 3_000_000


async def test_tables_views_and_macros_are_known_and_nothing_of_the_systems_own(engine: DuckDB) -> None:
    schema = await engine.schema()
    found = {each.path[1:]: each for each in schema.relations}
    assert {path: each.columns for path, each in found.items()} == {
        ("main", "people"): ("id", "e.mail", "city"),
        ("main", "orders"): ("id", "total"),
        ("main", "stays"): ("id", "guest", "twice"),
        ("main", "guests"): ("guest",),
        ("crm", "cities"): ("city",),
    }
    assert {path for path, each in found.items() if each.definition} == {
        ("crm", "cities"),
        ("main", "guests"),
    }
    assert [(field.column, field.name) for field in found["main", "stays"].fields] == [("guest", "email")]
    assert found["main", "guests"].fields == ()
    assert [column for column, _ in found["main", "stays"].computed] == ["twice"]
    assert schema.functions == {"leak"}


async def test_what_duckdb_objects_to_is_one_line(engine: DuckDB) -> None:
    guard = SqlGuard(engine, Catalogue())
    with pytest.raises(Exception, match="nothing_like_it") as caught:
        await guard.judge("SELECT nothing_like_it FROM orders")
    assert "\n" not in str(caught.value)
