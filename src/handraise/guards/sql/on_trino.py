"""Trino: `EXPLAIN (TYPE IO, FORMAT JSON)`. Made after its documentation; not run against a live cluster."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from handraise.guards.sql.engines import CannotEstimate, Estimate
from handraise.guards.sql.schema import Path, Relation, Schema

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
        columns = await self._run(
            "SELECT table_schema, table_name, column_name FROM "  # noqa: S608
            f"{self._catalog}.information_schema.columns WHERE {own} ORDER BY ordinal_position"
        )
        defined = await self._run(
            "SELECT table_schema, table_name, view_definition FROM "  # noqa: S608
            f"{self._catalog}.information_schema.views WHERE {own}"
        )
        views = {(schema, name): text for schema, name, text in defined}
        found: dict[tuple[str, str], list[str]] = {}
        for schema, name, column in columns:
            found.setdefault((schema, name), []).append(column)
        return Schema(
            tuple(
                Relation((self._catalog, *path), tuple(names), views.get(path))
                for path, names in found.items()
            )
        )

    async def estimate(self, statement: str) -> Estimate:
        """The rows that go in, by the connector's statistics."""
        rows = await self._run(f"EXPLAIN (TYPE IO, FORMAT JSON) {statement}")
        return parse_io(rows[0][0])


def parse_io(text: str) -> Estimate:
    """An estimate from Trino's IO plan. Without statistics its numbers are NaN, and there is none."""
    try:
        plan = json.loads(text)
        inputs = plan["inputTableColumnInfos"]
        estimates = [each["estimate"]["outputRowCount"] for each in inputs]
        whole = plan.get("estimate", {}).get("outputRowCount", 0)
        rows = [float(number) for number in (*estimates, whole)]
        tables = frozenset(_path(each["table"]) for each in inputs)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CannotEstimate(f"the plan cannot be read: {error!r}") from None
    if any(number != number or number in (float("inf"), float("-inf")) for number in rows):
        raise CannotEstimate("the tables have no statistics")
    return Estimate(int(max(rows)), tables)


def _path(table: dict[str, Any]) -> Path:
    return (table["catalog"], table["schemaTable"]["schema"], table["schemaTable"]["table"])
