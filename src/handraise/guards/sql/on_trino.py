"""Trino: `EXPLAIN (TYPE IO, FORMAT JSON)`. Made after its documentation; not run against a live cluster."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from handraise.display import for_line
from handraise.guards.sql.schema import CannotEstimate, Estimate, FieldPath, Relation, Schema, nested_fields

Run = Callable[[str], Awaitable[Sequence[Sequence[Any]]]]
"""Runs one statement and gives its rows."""


class Trino:
    """A catalogue of Trino's, by a function of yours that runs a statement."""

    dialect = "trino"

    def __init__(self, run: Run, catalog: str) -> None:
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
        return parse_io(rows[0][0])

    async def _rows_of(self, statement: str) -> Sequence[Sequence[Any]]:
        try:
            return await self._run(statement)
        except Exception as error:  # any error of your driver: nothing runs without an estimate
            said = str(getattr(error, "message", None) or error).partition("\n")[0]
            raise CannotEstimate(f"Trino said: {for_line(said, limit=300)}") from error


def parse_io(text: str) -> Estimate:
    """An estimate from Trino's IO plan. Without statistics its numbers are NaN, and there is none.

    Trino cannot estimate the rows of a statement that writes. A person is asked about such a statement anyhow.
    """
    try:
        plan = json.loads(text)
        inputs = plan["inputTableColumnInfos"]
        tables = {_path(each["table"]) for each in inputs}
        columns = {(_path(each["table"]), name) for each in inputs for name in _restricted(each)}
        rows = [float(each["estimate"]["outputRowCount"]) for each in inputs]
        whole = float(plan["estimate"]["outputRowCount"])
        written = plan.get("outputTable")
        if written is not None:
            tables.add(_path(written))
    except (ValueError, KeyError, TypeError) as error:
        raise CannotEstimate(f"the plan cannot be read ({type(error).__name__}: {error})") from None
    known = [*rows, *([whole] if written is None or math.isfinite(whole) else [])]
    if not all(math.isfinite(number) and number >= 0 for number in known):
        raise CannotEstimate("there are no statistics about its tables; ANALYZE makes some")
    return Estimate(math.ceil(max(known, default=0)), frozenset(tables), frozenset(columns))


def _restricted(info: dict[str, Any]) -> list[str]:
    """The columns by which rows are chosen; older versions have them without `constraint` around them."""
    return [str(each["columnName"]) for each in info.get("constraint", info)["columnConstraints"]]


def _path(table: dict[str, Any]) -> FieldPath:
    return (table["catalog"], table["schemaTable"]["schema"], table["schemaTable"]["table"])
