"""The engines that statements run on: DuckDB, PostgreSQL and Trino. Each gives its schema and the cost of a statement.

No driver is imported before it is used: the guard works on your own connection.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import anyio.to_thread

from handraise.display import for_line
from handraise.guards.sql.schema import (
    Catalogue,
    FieldPath,
    NestedField,
    Relation,
    Schema,
    nested_fields,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from psycopg import AsyncConnection


class CannotEstimate(Exception):
    """The engine gives no estimate or no schema. The message tells the model why."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The engine's estimate of one statement.

    - `rows`: the most rows that any step of its plan goes through.
    - `tables`: the tables in its plan.
    - `columns`: the columns that the plan says are read; none if it does not say.
    """

    rows: int
    tables: frozenset[FieldPath] = frozenset()
    columns: frozenset[tuple[FieldPath, str]] = frozenset()


class Engine(Protocol):
    """An engine that statements run on."""

    @property
    def dialect(self) -> str:
        """The parser's name for its SQL dialect."""
        ...

    async def schema(self) -> Schema:
        """Read its objects now. Raises `CannotEstimate`."""
        ...

    async def estimate(self, statement: str) -> Estimate:
        """Estimate the cost of exactly one statement; it is not run. Raises `CannotEstimate`."""
        ...


@contextmanager
def _errors_told(driver_error: type[Exception]) -> Iterator[None]:
    """Turn a driver's errors into a sentence."""
    try:
        yield
    except driver_error as error:
        raise CannotEstimate(str(error).partition("\n")[0]) from None


def _steps(plan: Any, below: str) -> Iterator[dict[str, Any]]:
    """Every step of a plan. `below` is the name of a step's inputs."""
    for step in plan if isinstance(plan, list) else [plan]:
        yield step
        yield from _steps(step.get(below) or [], below)


_DUCKDB_COLUMNS = (
    "SELECT database_name, schema_name, table_name, "
    "list((column_name, data_type, column_default) ORDER BY column_index) "
    "FROM duckdb_columns() WHERE NOT internal GROUP BY ALL"
)
_DUCKDB_VIEWS = "SELECT database_name, schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal"
_DUCKDB_FUNCTIONS = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE NOT internal"


class DuckDB:
    """Your connection to DuckDB. The guard's own queries run on cursors of their own."""

    dialect = "duckdb"

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection

    async def schema(self) -> Schema:
        """Tables, views and macros."""
        return await anyio.to_thread.run_sync(self._schema)

    async def estimate(self, statement: str) -> Estimate:
        """The most rows of any step, and the columns that the scans read."""
        return await anyio.to_thread.run_sync(partial(self._estimate, statement))

    def _errors(self) -> AbstractContextManager[None]:
        import duckdb

        return _errors_told(duckdb.Error)

    def _schema(self) -> Schema:
        with self._errors(), self._connection.cursor() as cursor:
            views = {tuple(path): sql for *path, sql in cursor.execute(_DUCKDB_VIEWS).fetchall()}
            found = cursor.execute(_DUCKDB_COLUMNS).fetchall()
            made = cursor.execute(_DUCKDB_FUNCTIONS).fetchall()
        relations = (
            _duckdb_relation(tuple(path), columns, views.get(tuple(path))) for *path, columns in found
        )
        return Schema(tuple(relations), frozenset(name for (name,) in made))

    def _estimate(self, statement: str) -> Estimate:
        with self._errors(), self._connection.cursor() as cursor:
            # Behind EXPLAIN a second statement would run: DuckDB's own parser has to find one only.
            if len(cursor.extract_statements(statement)) != 1:
                raise CannotEstimate("there is more than one statement in it")
            (row,) = cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}").fetchall()
        return parse_duckdb_plan(row[1])


def _duckdb_relation(
    path: FieldPath, columns: list[tuple[str, str, str | None]], view: str | None
) -> Relation:
    names = tuple(name for name, *_ in columns)
    if view is not None:
        return Relation(path, names, view)
    fields = nested_fields(path, ((name, kind) for name, kind, _ in columns), DuckDB.dialect)
    # For a generated column, DuckDB gives its expression as the default.
    return Relation(
        path, names, fields=fields, computed=tuple((name, made) for name, _, made in columns if made)
    )


def parse_duckdb_plan(text: str) -> Estimate:
    """An estimate from DuckDB's plan in JSON."""
    plan = json.loads(text)
    columns: set[tuple[FieldPath, str]] = set()
    tables: set[FieldPath] = set()
    rows = 0
    for node in _steps(plan, "children"):
        rows = max(rows, _duckdb_rows(node))
        info = _duckdb_info(node)
        if isinstance(table := info.get("Table"), str):
            path = tuple(part.strip('"') for part in table.split("."))
            tables.add(path)
            shown = info.get("Projections", [])
            columns.update((path, name) for name in ([shown] if isinstance(shown, str) else shown) if name)
    return Estimate(rows, frozenset(tables), frozenset(columns))


def _duckdb_rows(node: dict[str, Any]) -> int:
    """The estimate of a step. A product has no estimate of its own: it is the product of what goes in."""
    if (own := _duckdb_info(node).get("Estimated Cardinality")) is not None:
        return int(own)
    below = [_duckdb_rows(each) for each in node.get("children") or ()]
    return math.prod(below) if node["name"].endswith(_PRODUCTS) else max(below, default=0)


_PRODUCTS = ("PRODUCT", "JOIN")


def _duckdb_info(node: dict[str, Any]) -> dict[str, Any]:
    return node.get("extra_info") or {}


_POSTGRES_RELATIONS = """
SELECT n.nspname, c.relname, array_agg(a.attname::text ORDER BY a.attnum),
       array_agg(pg_get_expr(d.adbin, d.adrelid) ORDER BY a.attnum),
       CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum AND a.attgenerated <> ''
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
GROUP BY n.nspname, c.relname, c.relkind, c.oid
"""
_POSTGRES_PARTS = """
WITH RECURSIVE parts(part, whole) AS (
    SELECT inhrelid, inhparent FROM pg_inherits
    UNION SELECT parts.part, i.inhparent FROM parts JOIN pg_inherits i ON i.inhrelid = parts.whole
)
SELECT n.nspname, c.relname, of_n.nspname, of_c.relname FROM parts
JOIN pg_class c ON c.oid = part JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class of_c ON of_c.oid = whole JOIN pg_namespace of_n ON of_n.oid = of_c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f')
"""
_POSTGRES_FIELDS = """
WITH RECURSIVE inside(relation, attribute, type) AS (
    SELECT c.oid, a.attname, a.atttypid
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relkind IN ('r', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
    UNION SELECT i.relation, i.attribute, made.of FROM inside i, LATERAL (
        SELECT typelem FROM pg_type WHERE oid = i.type AND typelem <> 0
        UNION ALL SELECT typbasetype FROM pg_type WHERE oid = i.type AND typbasetype <> 0
        UNION ALL SELECT rngsubtype FROM pg_range WHERE i.type IN (rngtypid, rngmultitypid)
        UNION ALL SELECT a.atttypid FROM pg_type t JOIN pg_attribute a ON a.attrelid = t.typrelid
            WHERE t.oid = i.type AND a.attnum > 0 AND NOT a.attisdropped
    ) made(of)
)
SELECT n.nspname, c.relname, i.attribute, f.attname, of_n.nspname, of_c.relname FROM inside i
JOIN pg_type t ON t.oid = i.type
JOIN pg_class of_c ON of_c.oid = t.typrelid JOIN pg_namespace of_n ON of_n.oid = of_c.relnamespace
JOIN pg_attribute f ON f.attrelid = of_c.oid AND f.attnum > 0 AND NOT f.attisdropped
JOIN pg_class c ON c.oid = i.relation JOIN pg_namespace n ON n.oid = c.relnamespace
"""
_POSTGRES_FUNCTIONS = """
SELECT DISTINCT p.proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
"""
_POSTGRES_COMMENTS = """
SELECT n.nspname, c.relname, a.attname, d.description
FROM pg_description d JOIN pg_class c ON c.oid = d.objoid AND d.classoid = 'pg_class'::regclass
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid
WHERE d.description ~* 'personal'
"""
_PERSONAL = re.compile(r"\bpersonal(?:\s*:\s*([\w, -]+))?", re.IGNORECASE)


class Postgres:
    """Your connection to PostgreSQL (psycopg)."""

    dialect = "postgres"

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def schema(self) -> Schema:
        """Tables, views and functions outside of the system's own schemas."""
        with self._errors():
            self._require_standard_strings()
            async with self._connection.cursor() as cursor:
                found = await (await cursor.execute(_POSTGRES_RELATIONS)).fetchall()
                parts = await (await cursor.execute(_POSTGRES_PARTS)).fetchall()
                inside = await (await cursor.execute(_POSTGRES_FIELDS)).fetchall()
                made = await (await cursor.execute(_POSTGRES_FUNCTIONS)).fetchall()
        above: defaultdict[FieldPath, list[FieldPath]] = defaultdict(list)
        below: defaultdict[FieldPath, list[FieldPath]] = defaultdict(list)
        for part_schema, part, schema, name in parts:
            above[part_schema, part].append((schema, name))
            below[schema, name].append((part_schema, part))
        fields: defaultdict[FieldPath, list[NestedField]] = defaultdict(list)
        for schema, name, column, field, *of in inside:
            fields[schema, name].append(NestedField(column, field, tuple(of)))
        relations = (
            Relation(
                path := (schema, name),
                tuple(columns),
                view,
                tuple(above[path]),
                tuple(below[path]),
                tuple(fields[path]),
                tuple((column, made) for column, made in zip(columns, computed, strict=True) if made),
            )
            for schema, name, columns, computed, view in found
        )
        return Schema(tuple(relations), frozenset(name for (name,) in made))

    async def comments(self) -> Catalogue:
        """The columns whose comment says `personal`, or `personal: contact, identity`."""
        async with self._connection.cursor() as cursor:
            rows = await (await cursor.execute(_POSTGRES_COMMENTS)).fetchall()
        tags: dict[str, dict[str, list[str]]] = {}
        for schema, table, column, comment in rows:
            if (said := _PERSONAL.search(comment)) is not None:
                kinds = [kind.strip() for kind in (said[1] or "personal").split(",")]
                tags.setdefault(f"{schema}.{table}", {})[column] = kinds
        return Catalogue(tags)

    async def estimate(self, statement: str) -> Estimate:
        """The most rows of any step, and the tables that the plan reads."""
        with self._errors():
            self._require_standard_strings()
            async with self._connection.transaction(), self._connection.cursor() as cursor:
                # Prepared, because the server then takes one statement only: behind EXPLAIN a second one would run.
                text = f"EXPLAIN (FORMAT JSON, VERBOSE) {statement}".encode()
                await cursor.execute(text, prepare=True)
                (row,) = await cursor.fetchall()
        return parse_postgres_plan(row[0])

    def _errors(self) -> AbstractContextManager[None]:
        import psycopg

        return _errors_told(psycopg.Error)

    def _require_standard_strings(self) -> None:
        """Refuse a connection with other rules for the end of a string: text that looks like a string to the guard
        could run."""
        if self._connection.info.parameter_status("standard_conforming_strings") != "on":
            raise CannotEstimate("standard_conforming_strings is not on, so that strings end elsewhere")


def parse_postgres_plan(plans: list[dict[str, Any]]) -> Estimate:
    """An estimate from PostgreSQL's plan in JSON."""
    nodes = [node for plan in plans for node in _steps(plan["Plan"], "Plans")]
    tables = {(node["Schema"], node["Relation Name"]) for node in nodes if "Relation Name" in node}
    return Estimate(max(int(node["Plan Rows"]) for node in nodes), frozenset(tables))


RunStatement = Callable[[str], Awaitable[Sequence[Sequence[Any]]]]
"""Runs one statement and gives its rows."""


class Trino:
    """One catalogue of Trino. `run` is your function that runs a statement.

    Made after Trino's documentation; not run against a live cluster.
    """

    dialect = "trino"

    def __init__(self, run: RunStatement, catalog: str) -> None:
        if not catalog.replace("_", "").isalnum():
            raise ValueError(f"{catalog!r} is no name of a catalogue")
        self._run = run
        self._catalog = catalog

    async def schema(self) -> Schema:
        """Tables and views of the catalogue."""
        own = "table_schema <> 'information_schema'"
        columns = await self._rows_of(
            "SELECT table_schema, table_name, column_name, data_type FROM "  # noqa: S608 - the name is checked above
            f"{self._catalog}.information_schema.columns WHERE {own} ORDER BY ordinal_position"
        )
        defined = await self._rows_of(
            "SELECT table_schema, table_name, view_definition FROM "  # noqa: S608 - the name is checked above
            f"{self._catalog}.information_schema.views WHERE {own}"
        )
        views = {(schema, name): text for schema, name, text in defined}
        found: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for schema, name, *column in columns:
            found.setdefault((schema, name), []).append((column[0], column[1]))
        return Schema(
            tuple(
                self._relation((self._catalog, *path), several, views.get(path))
                for path, several in found.items()
            )
        )

    def _relation(self, path: FieldPath, columns: list[tuple[str, str]], view: str | None) -> Relation:
        names = tuple(name for name, _ in columns)
        fields = () if view is not None else nested_fields(path, columns, self.dialect)
        return Relation(path, names, view, fields=fields)

    async def estimate(self, statement: str) -> Estimate:
        """The rows that go in and come out, by the connector's statistics, and the columns that are restricted."""
        rows = await self._rows_of(f"EXPLAIN (TYPE IO, FORMAT JSON) {statement}")
        if not rows or not rows[0]:
            raise CannotEstimate("Trino gave no plan")
        return parse_trino_plan(rows[0][0])

    async def _rows_of(self, statement: str) -> Sequence[Sequence[Any]]:
        try:
            return await self._run(statement)
        except Exception as error:  # any error of your driver: nothing runs without an estimate
            said = str(getattr(error, "message", None) or error).partition("\n")[0]
            raise CannotEstimate(f"Trino said: {for_line(said, limit=300)}") from error


def parse_trino_plan(text: str) -> Estimate:
    """An estimate from Trino's IO plan. Without statistics its numbers are NaN, and there is none.

    Trino cannot estimate the rows of a statement that writes. A person is asked about such a statement anyhow.
    """
    try:
        plan = json.loads(text)
        inputs = plan["inputTableColumnInfos"]
        tables = {_trino_path(each["table"]) for each in inputs}
        columns = {(_trino_path(each["table"]), name) for each in inputs for name in _trino_restricted(each)}
        rows = [float(each["estimate"]["outputRowCount"]) for each in inputs]
        whole = float(plan["estimate"]["outputRowCount"])
        written = plan.get("outputTable")
        if written is not None:
            tables.add(_trino_path(written))
    except (ValueError, KeyError, TypeError) as error:
        raise CannotEstimate(f"the plan cannot be read ({type(error).__name__}: {error})") from None
    known = [*rows, *([whole] if written is None or math.isfinite(whole) else [])]
    if not all(math.isfinite(number) and number >= 0 for number in known):
        raise CannotEstimate("there are no statistics about its tables; ANALYZE makes some")
    return Estimate(math.ceil(max(known, default=0)), frozenset(tables), frozenset(columns))


def _trino_restricted(info: dict[str, Any]) -> list[str]:
    """The columns by which rows are chosen; older versions have them without `constraint` around them."""
    return [str(each["columnName"]) for each in info.get("constraint", info)["columnConstraints"]]


def _trino_path(table: dict[str, Any]) -> FieldPath:
    return (table["catalog"], table["schemaTable"]["schema"], table["schemaTable"]["table"])
