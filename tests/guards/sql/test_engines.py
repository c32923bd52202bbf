"""The schema and the cost of a statement, from DuckDB, PostgreSQL and Trino."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from handraise.errors import GuardRefused
from handraise.guards.sql import Catalogue, DuckDB, SqlGuard, Trino
from handraise.guards.sql.engines import (
    CannotEstimate,
    Estimate,
    parse_duckdb_plan,
    parse_postgres_plan,
    parse_trino_plan,
)

pytestmark = [pytest.mark.anyio, pytest.mark.shows("U4")]


@pytest.fixture
def duckdb_engine() -> Iterator[DuckDB]:
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
        assert parse_duckdb_plan(text).rows == rows


def test_tables_and_columns_of_every_step_are_found() -> None:
    several = step("SCAN", Table='"my db".main."people"', Projections=["id", "email", ""])
    single = step("SCAN", Table="orders", Projections="total")
    estimate = parse_duckdb_plan(
        json.dumps(step("TOP", several, step("SUB", single, step("SCAN", Table="none"))))
    )
    people = ("my db", "main", "people")
    assert estimate.tables == {people, ("orders",), ("none",)}
    assert estimate.columns == {(people, "id"), (people, "email"), (("orders",), "total")}


async def test_real_plans_have_what_is_looked_for(duckdb_engine: DuckDB) -> None:
    plain = await duckdb_engine.estimate('SELECT "e.mail" FROM people')
    assert [path[-1] for path in plain.tables] == ["people"]
    assert [column for _, column in plain.columns] == ["e.mail"]
    assert plain.rows == 1000
    assert (await duckdb_engine.estimate("SELECT count(*) FROM people, orders")).rows == 3_000_000


async def test_tables_views_and_macros_are_known_and_nothing_of_the_systems_own(
    duckdb_engine: DuckDB,
) -> None:
    schema = await duckdb_engine.schema()
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


async def test_what_duckdb_objects_to_is_one_line(duckdb_engine: DuckDB) -> None:
    guard = SqlGuard(duckdb_engine, Catalogue())
    with pytest.raises(Exception, match="nothing_like_it") as caught:
        await guard.judge("SELECT nothing_like_it FROM orders")
    assert "\n" not in str(caught.value)


def test_every_step_of_every_plan_counts() -> None:
    scan = {"Plan Rows": 500, "Relation Name": "people", "Schema": "crm"}
    below = {"Plan Rows": 2.0, "Plans": [{"Plan Rows": 1, "Plans": [scan]}]}
    other = {"Plan Rows": 7, "Relation Name": "orders", "Schema": "public"}
    tables = frozenset({("crm", "people"), ("public", "orders")})
    assert parse_postgres_plan([{"Plan": below}, {"Plan": other}]) == Estimate(500, tables)
    assert parse_postgres_plan([{"Plan": {"Plan Rows": 3, "Plans": [other]}}]).rows == 7


PLANS = Path(__file__).parents[1] / "data" / "trino"
ORDERS, PEOPLE = ("hive", "tpch", "orders"), ("hive", "tpch", "people")
COLUMNS = {
    "orders": ("orderkey bigint", "custkey bigint", "sent_to row(street varchar, born date)"),
    "people": ("id bigint", "email varchar", "born date"),
    "contacts": ("contact row(email varchar)",),
}


NAMES = [f"{table}.{each.partition(' ')[0]}" for table, columns in COLUMNS.items() for each in columns]


def plan(name: str) -> str:
    return (PLANS / f"{name}.json").read_text(encoding="utf-8")


class Cluster:
    """What a driver would give: a catalogue, and one plan for everything that is explained."""

    def __init__(self, plan: str | Exception) -> None:
        self.plan = plan
        self.ran: list[str] = []

    async def run(self, statement: str) -> Sequence[Sequence[Any]]:
        self.ran.append(statement)
        if ".columns" in statement:
            return [
                ("tpch", table, *each.partition(" ")[::2])
                for table, columns in COLUMNS.items()
                for each in columns
            ]
        if ".views" in statement:
            return [("tpch", "contacts", "SELECT email AS contact FROM hive.tpch.people")]
        if isinstance(self.plan, Exception):
            raise self.plan
        return [(self.plan,)]

    def guard(self) -> SqlGuard:
        return SqlGuard(Trino(self.run, "hive"), Catalogue({"people": {"email": ["contact"], "born": []}}))


def test_the_documented_plan_of_a_write_is_read() -> None:
    estimate = parse_trino_plan(plan("documented"))
    assert estimate.rows == 2
    assert estimate.tables == {("hive", "tpch", "test_orders")}
    assert {column for _, column in estimate.columns} == {"orderkey", "processing", "custkey"}


@pytest.mark.parametrize(
    ("name", "rows", "tables"),
    [
        ("plain", 1_500_000, {ORDERS}),
        ("join", 15_000, {ORDERS, PEOPLE}),
        ("constraints", 1, {PEOPLE}),
        ("nothing_matches", 0, {ORDERS}),
        ("no_table", 1, set()),
    ],
)
def test_the_most_rows_that_go_in_or_come_out_count(name: str, rows: int, tables: Any) -> None:
    estimate = parse_trino_plan(plan(name))
    assert (estimate.rows, estimate.tables) == (rows, tables)


def test_of_a_write_what_goes_in_counts_and_what_comes_out_where_that_is_known() -> None:
    text = plan("documented")
    elsewhere = text.replace('"table": "test_orders"', '"table": "kept"').replace(
        '"kept"', '"test_orders"', 1
    )
    assert parse_trino_plan(elsewhere).tables == {("hive", "tpch", "test_orders"), ("hive", "tpch", "kept")}
    assert parse_trino_plan(text.replace('"outputRowCount": "NaN"', '"outputRowCount": 7.5')).rows == 8
    values = {**json.loads(text), "inputTableColumnInfos": []}  # INSERT ... VALUES
    assert parse_trino_plan(json.dumps(values)) == Estimate(0, frozenset({("hive", "tpch", "test_orders")}))


@pytest.mark.parametrize("name", ["no_statistics", "result_unknown"])
def test_without_statistics_there_is_no_estimate(name: str) -> None:
    with pytest.raises(CannotEstimate, match="no statistics"):
        parse_trino_plan(plan(name))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"inputTableColumnInfos": [{}], "estimate": {}}', "Fragment 0 [SINGLE]"]
    + [plan("plain").replace("1500000.0", bad) for bad in ("NaN", "Infinity", "-1", '"many"', "null")],
)
def test_a_plan_that_is_none_gives_no_estimate(text: str) -> None:
    with pytest.raises(CannotEstimate, match=r"the plan cannot be read|no statistics"):
        parse_trino_plan(text)


@pytest.mark.parametrize(
    ("statement", "name", "asks", "columns"),
    [
        ("SELECT orderkey FROM orders", "nothing_matches", False, []),
        ("SELECT orderkey FROM orders", "plain", True, []),
        (
            "SELECT o.orderkey FROM orders o JOIN people p ON p.id = o.custkey",
            "join",
            True,
            ["tpch.people.born"],
        ),
        ("SELECT id FROM people WHERE email = 'ada@example.org'", "constraints", True, ["tpch.people.email"]),
        ("SELECT contact FROM contacts", "constraints", True, ["tpch.people.email"]),
        ("SELECT sent_to.street FROM orders", "plain", True, ["tpch.orders.sent_to"]),
        ("SELECT 1", "no_table", False, []),
    ],
)
async def test_cost_and_personal_columns_are_asked_about(
    statement: str, name: str, asks: bool, columns: list[str]
) -> None:
    cluster = Cluster(plan(name))
    verdict = await cluster.guard().judge(statement)
    assert (verdict.asks, [column for column, _ in verdict.columns]) == (asks, columns)
    assert cluster.ran[-1] == f"EXPLAIN (TYPE IO, FORMAT JSON) {statement}"


async def test_a_table_that_the_text_does_not_name_is_refused() -> None:
    with pytest.raises(GuardRefused, match="does not name: people"):
        await Cluster(plan("join")).guard().judge("SELECT orderkey FROM orders")


class DriverError(Exception):
    """As the driver raises it: with a message of its own."""

    def __init__(self, message: str) -> None:
        super().__init__(f"DriverError(type=USER_ERROR, query_id=2026, message={message!r})")
        self.message = message


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            DriverError("line 1:8: Column 'x' cannot be resolved\n  at io.trino"),
            "Trino said: line 1:8: Column 'x'",
        ),
        (ConnectionError("connection refused"), "Trino said: connection refused"),
    ],
)
async def test_what_a_driver_raises_becomes_a_sentence_and_nothing_runs(error: Exception, told: str) -> None:
    with pytest.raises(GuardRefused, match=r"^cannot_estimate: this statement does not run") as caught:
        await Cluster(error).guard().judge("SELECT orderkey FROM orders")
    assert told in str(caught.value)
    assert "io.trino" not in str(caught.value)


@pytest.mark.parametrize("rows", [[], [()]])
async def test_a_cluster_that_gives_no_plan_gives_no_estimate(rows: Any) -> None:
    async def run(statement: str) -> Sequence[Sequence[Any]]:
        return rows if statement.startswith("EXPLAIN") else []

    with pytest.raises(GuardRefused, match="Trino gave no plan"):
        await SqlGuard(Trino(run, "hive"), Catalogue()).judge("SELECT 1")


async def test_what_a_cluster_says_is_inert_and_cut() -> None:
    with pytest.raises(GuardRefused) as caught:
        await Cluster(RuntimeError("a\u202eb" + "y" * 1000)).guard().judge("SELECT orderkey FROM orders")
    assert "a⟨U+202E⟩byyy" in str(caught.value)
    assert "y" * 301 not in str(caught.value)


async def test_tables_and_views_are_those_of_the_catalogue_without_the_systems_own() -> None:
    cluster = Cluster("")
    found = (await Trino(cluster.run, "my_hive").schema()).relations
    assert {".".join((each.path[-1], name)) for each in found for name in each.columns} == set(NAMES)
    assert {each.path[:2] for each in found} == {("my_hive", "tpch")}
    assert [(each.path[-1], each.fields) for each in found if each.definition] == [("contacts", ())]
    for statement in cluster.ran:
        assert "FROM my_hive.information_schema." in statement
        assert "WHERE table_schema <> 'information_schema'" in statement


async def test_a_cluster_that_is_gone_refuses_everything() -> None:
    async def gone(statement: str) -> Sequence[Sequence[Any]]:
        raise ConnectionError("connection refused")

    with pytest.raises(GuardRefused, match="connection refused"):
        await SqlGuard(Trino(gone, "hive"), Catalogue()).judge("SELECT 1")


@pytest.mark.parametrize("name", ["hive; DROP", "", "_"])
def test_a_catalogue_name_cannot_carry_sql(name: str) -> None:
    with pytest.raises(ValueError, match="no name of a catalogue"):
        Trino(Cluster("").run, name)
