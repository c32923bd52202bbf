"""PostgreSQL: its catalogue with the comments on columns, and `EXPLAIN (FORMAT JSON, VERBOSE)`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from handraise.guards.sql.schema import (
    CannotEstimate,
    Catalogue,
    Estimate,
    FieldPath,
    NestedField,
    Relation,
    Schema,
)

if TYPE_CHECKING:
    from psycopg import AsyncConnection

_RELATIONS = """
SELECT n.nspname, c.relname, array_agg(a.attname::text ORDER BY a.attnum),
       array_agg(pg_get_expr(d.adbin, d.adrelid) ORDER BY a.attnum),
       CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum AND a.attgenerated <> ''
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
GROUP BY n.nspname, c.relname, c.relkind, c.oid
"""
_PARTS = """
WITH RECURSIVE parts(part, whole) AS (
    SELECT inhrelid, inhparent FROM pg_inherits
    UNION SELECT parts.part, i.inhparent FROM parts JOIN pg_inherits i ON i.inhrelid = parts.whole
)
SELECT n.nspname, c.relname, of_n.nspname, of_c.relname FROM parts
JOIN pg_class c ON c.oid = part JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class of_c ON of_c.oid = whole JOIN pg_namespace of_n ON of_n.oid = of_c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f')
"""
_FIELDS = """
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
_FUNCTIONS = """
SELECT DISTINCT p.proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
"""
_COMMENTS = """
SELECT n.nspname, c.relname, a.attname, d.description
FROM pg_description d JOIN pg_class c ON c.oid = d.objoid AND d.classoid = 'pg_class'::regclass
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid
WHERE d.description ~* 'personal'
"""
_TAGS = re.compile(r"\bpersonal(?:\s*:\s*([\w, -]+))?", re.IGNORECASE)


class Postgres:
    """Your connection to PostgreSQL (psycopg)."""

    dialect = "postgres"

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def schema(self) -> Schema:
        """Tables, views and functions outside of the system's own schemas."""
        with _telling():
            self._require_standard_strings()
            async with self._connection.cursor() as cursor:
                found = await (await cursor.execute(_RELATIONS)).fetchall()
                parts = await (await cursor.execute(_PARTS)).fetchall()
                inside = await (await cursor.execute(_FIELDS)).fetchall()
                made = await (await cursor.execute(_FUNCTIONS)).fetchall()
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
            rows = await (await cursor.execute(_COMMENTS)).fetchall()
        tags: dict[str, dict[str, list[str]]] = {}
        for schema, table, column, comment in rows:
            if (said := _TAGS.search(comment)) is not None:
                kinds = [kind.strip() for kind in (said[1] or "personal").split(",")]
                tags.setdefault(f"{schema}.{table}", {})[column] = kinds
        return Catalogue(tags)

    async def estimate(self, statement: str) -> Estimate:
        """The most rows of any step, and the tables that the plan reads."""
        with _telling():
            self._require_standard_strings()
            async with self._connection.transaction(), self._connection.cursor() as cursor:
                # Prepared, because the server then takes one statement only: behind EXPLAIN a second one would run.
                text = f"EXPLAIN (FORMAT JSON, VERBOSE) {statement}".encode()
                await cursor.execute(text, prepare=True)
                (row,) = await cursor.fetchall()
        return parse_plan(row[0])

    def _require_standard_strings(self) -> None:
        """Refuse a connection with other rules for the end of a string: text that looks like a string to the guard
        could run."""
        if self._connection.info.parameter_status("standard_conforming_strings") != "on":
            raise CannotEstimate("standard_conforming_strings is not on, so that strings end elsewhere")


@contextmanager
def _telling() -> Iterator[None]:
    """Turn errors of PostgreSQL and of its connection into a sentence."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise CannotEstimate(str(error).partition("\n")[0]) from None


def parse_plan(plans: list[dict[str, Any]]) -> Estimate:
    """An estimate from PostgreSQL's plan in JSON."""
    nodes = [node for plan in plans for node in _nodes(plan["Plan"])]
    tables = {(node["Schema"], node["Relation Name"]) for node in nodes if "Relation Name" in node}
    return Estimate(max(int(node["Plan Rows"]) for node in nodes), frozenset(tables))


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)
