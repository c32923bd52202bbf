"""Guards: the cost of judging a query that needs no question, beside DuckDB's own EXPLAIN of it."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from statistics import median
from time import perf_counter

import duckdb
from bench.measure import Bench, Figure

from handraise.guards import Catalogue, SqlGuard
from handraise.guards.sql import DuckDB

QUERIES = {
    "one table": "SELECT id, total AS x FROM orders WHERE total > {n}",
    "a join": "SELECT p.city, sum(o.total) AS x FROM people p JOIN orders o ON o.person_id = p.id "
    "WHERE o.total > {n} GROUP BY p.city ORDER BY 2 DESC LIMIT 10",
    "a query in a query": "WITH spent AS (SELECT person_id, sum(total) AS sum FROM orders WHERE total > {n} "
    "GROUP BY person_id) SELECT p.city, avg(s.sum) AS x FROM people p JOIN spent s ON s.person_id = p.id "
    "GROUP BY p.city",
    "a window": "SELECT person_id, total::DOUBLE AS x, rank() OVER (PARTITION BY person_id ORDER BY total DESC) "
    "FROM orders WHERE total > {n}",
    "a list": "SELECT city, list_sort([id, {n}]) AS x FROM people WHERE id > {n}",
}
ROUNDS = 300
LOOKED_UP_EVERY = 10


def run(bench: Bench) -> None:
    """Each statement has another number. The schema is remembered, or looked up each time."""
    asyncio.run(_run(bench))


async def _run(bench: Bench) -> None:
    with duckdb.connect() as database:
        database.execute(
            "CREATE TABLE people AS SELECT i AS id, 'p' || i AS email, 'c' || i % 9 AS city FROM range(1000) t(i);"
            "CREATE TABLE orders AS SELECT i AS id, i % 1000 AS person_id, i AS total FROM range(100000) t(i)"
        )
        engine, catalogue = DuckDB(database), Catalogue({"people": {"email": ["contact"]}})
        known = SqlGuard(engine, catalogue)
        asking = SqlGuard(engine, catalogue, keep_schema=0)
        for name, query in QUERIES.items():
            samples: dict[str, list[float]] = {"explain": [], "known": [], "looked up": []}
            for number in range(bench.rounds(ROUNDS)):
                statement = query.format(n=number)
                marks = [perf_counter()]
                await engine.estimate(statement)
                marks.append(perf_counter())
                verdict = await known.judge(statement)
                marks.append(perf_counter())
                if number % LOOKED_UP_EVERY == 0:
                    await asking.judge(statement)
                    marks.append(perf_counter())
                assert not verdict.asks
                explained, *judged = [after - before for before, after in pairwise(marks)]
                samples["explain"].append(explained)
                for name_, took in zip(("known", "looked up"), judged, strict=False):
                    samples[name_].append(took - explained)
            figures = [
                Figure("DuckDB's EXPLAIN", 1000 * median(samples["explain"]), "ms"),
                Figure("the guard, over it", 1000 * median(samples["known"]), "ms", at_most=3.0),
                Figure("with the schema looked up each time", 1000 * median(samples["looked up"]), "ms"),
            ]
            bench.state(f"a query that needs no question: {name}", figures)
