"""DuckDB, embedded: its catalogue, and `EXPLAIN (FORMAT JSON)`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from handraise.guards.sql.schema import CannotEstimate, Estimate, FieldPath, Relation, Schema, nested_fields

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_COLUMNS = (
    "SELECT database_name, schema_name, table_name, "
    "list((column_name, data_type, column_default) ORDER BY column_index) "
    "FROM duckdb_columns() WHERE NOT internal GROUP BY ALL"
)
_VIEWS = "SELECT database_name, schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal"
_FUNCTIONS = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE NOT internal"


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

    def _schema(self) -> Schema:
        with _telling(), self._connection.cursor() as cursor:
            views = {tuple(path): sql for *path, sql in cursor.execute(_VIEWS).fetchall()}
            found = cursor.execute(_COLUMNS).fetchall()
            made = cursor.execute(_FUNCTIONS).fetchall()
        relations = (_relation(tuple(path), columns, views.get(tuple(path))) for *path, columns in found)
        return Schema(tuple(relations), frozenset(name for (name,) in made))

    def _estimate(self, statement: str) -> Estimate:
        with _telling(), self._connection.cursor() as cursor:
            # Behind EXPLAIN a second statement would run: DuckDB's own parser has to find one only.
            if len(cursor.extract_statements(statement)) != 1:
                raise CannotEstimate("there is more than one statement in it")
            (row,) = cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}").fetchall()
        return parse_plan(row[1])


def _relation(path: FieldPath, columns: list[tuple[str, str, str | None]], view: str | None) -> Relation:
    names = tuple(name for name, *_ in columns)
    if view is not None:
        return Relation(path, names, view)
    fields = nested_fields(path, ((name, kind) for name, kind, _ in columns), DuckDB.dialect)
    # For a generated column, DuckDB gives its expression as the default.
    return Relation(
        path, names, fields=fields, computed=tuple((name, made) for name, _, made in columns if made)
    )


@contextmanager
def _telling() -> Iterator[None]:
    """Turn DuckDB's errors into a sentence."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise CannotEstimate(str(error).partition("\n")[0]) from None


def parse_plan(text: str) -> Estimate:
    """An estimate from DuckDB's plan in JSON."""
    plan = json.loads(text)
    columns: set[tuple[FieldPath, str]] = set()
    tables: set[FieldPath] = set()
    rows = 0
    for node in _nodes(plan):
        rows = max(rows, _rows(node))
        info = _info(node)
        if isinstance(table := info.get("Table"), str):
            path = tuple(part.strip('"') for part in table.split("."))
            tables.add(path)
            shown = info.get("Projections", [])
            columns.update((path, name) for name in ([shown] if isinstance(shown, str) else shown) if name)
    return Estimate(rows, frozenset(tables), frozenset(columns))


def _rows(node: dict[str, Any]) -> int:
    """The estimate of a step. A product has no estimate of its own: it is the product of what goes in."""
    if (own := _info(node).get("Estimated Cardinality")) is not None:
        return int(own)
    below = [_rows(each) for each in node.get("children") or ()]
    return math.prod(below) if node["name"].endswith(_PRODUCTS) else max(below, default=0)


_PRODUCTS = ("PRODUCT", "JOIN")


def _info(node: dict[str, Any]) -> dict[str, Any]:
    return node.get("extra_info") or {}


def _nodes(plan: Any) -> Iterator[dict[str, Any]]:
    for node in plan if isinstance(plan, list) else [plan]:
        yield node
        yield from _nodes(node.get("children") or [])
