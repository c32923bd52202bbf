"""A query server over DuckDB that asks before a statement is costly, changes something or reaches personal data."""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path

import duckdb
from mcp.server.mcpserver import MCPServer

from handraise import Handraise
from handraise.guards import Catalogue, SqlGuard, guard
from handraise.guards.sql import DuckDB

CATALOGUE = Path(__file__).with_name("personal.toml")
DATA = """
CREATE TABLE people AS SELECT i AS id, 'Person ' || i AS name, 'person' || i || '@example.org' AS email,
    DATE '1950-01-01' + CAST(i * 37 % 20000 AS INTEGER) AS born, 'City ' || i % 40 AS city FROM range({people}) t(i);
CREATE TABLE orders AS SELECT i AS id, i % {people} AS person_id, 10 + i % 490 AS total,
    DATE '2024-01-01' + CAST(i % 700 AS INTEGER) AS placed FROM range({orders}) t(i);
CREATE VIEW buyers AS SELECT p.id, p.email AS contact, o.total FROM people p JOIN orders o ON o.person_id = p.id;
"""
MOST_ROWS = 200


def make_warehouse(
    *, people: int = 20_000, orders: int = 2_000_000, rows: int = 1_000_000, ledger: Path | None = None
) -> MCPServer:
    """The server with its data, which is made up."""
    database = duckdb.connect()
    database.execute(DATA.format(people=people, orders=orders))
    sql_guard = SqlGuard(DuckDB(database), Catalogue.from_toml(CATALOGUE), rows=rows)
    server = Handraise(ledger=ledger).install(MCPServer("warehouse"))

    def run(statement: str) -> tuple[list[str], list[tuple[object, ...]]]:
        with database.cursor() as cursor:
            found = cursor.execute(statement)
            return [column[0] for column in found.description or ()], found.fetchmany(MOST_ROWS + 1)

    def write(statement: str, target: Path) -> None:
        with database.cursor() as cursor:
            found = cursor.execute(statement)
            target.write_text(_csv([each[0] for each in found.description or ()], found.fetchall()))

    @server.tool()
    async def query(sql: str) -> str:
        """Run one statement of DuckDB's SQL; at most 200 rows come back, as CSV."""
        names, found = run(await sql_guard.approve(sql))
        more = f"\nThere is more; only {MOST_ROWS} rows are shown." if len(found) > MOST_ROWS else ""
        return _csv(names, found[:MOST_ROWS]) + more

    @server.tool()
    async def describe() -> str:
        """The tables and views with their columns."""
        return _csv(
            *run(
                "SELECT table_name, string_agg(column_name || ' ' || data_type, ', ') AS columns "
                "FROM duckdb_columns() WHERE NOT internal GROUP BY table_name ORDER BY table_name"
            )
        )

    @server.tool()
    @guard(
        "Write the result of a statement to the file {file}?", consequence="A file of that name is replaced."
    )
    async def export(sql: str, file: str) -> str:
        """Write the result of a statement to a CSV file in the server's folder."""
        target = Path(file)
        if target.name != file or target.suffix != ".csv":
            return "Name a file like orders.csv, without a folder."
        write(await sql_guard.approve(sql), target)
        return f"Written to {file}."

    return server


def _csv(names: list[str], rows: list[tuple[object, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue()


def main() -> None:
    """Serve on standard input and output, or over HTTP on this machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--http", type=int, metavar="PORT", help="serve over HTTP at this port of this machine"
    )
    parser.add_argument("--people", type=int, default=20_000, help="how many people to make up (20000)")
    parser.add_argument("--orders", type=int, default=2_000_000, help="how many orders to make up (2000000)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="ask above so many rows (1000000)")
    parser.add_argument(
        "--ledger", type=Path, metavar="FILE", help="record questions and decisions in this file"
    )
    given = parser.parse_args()
    server = make_warehouse(people=given.people, orders=given.orders, rows=given.rows, ledger=given.ledger)
    if given.http is None:
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=given.http)


if __name__ == "__main__":
    main()
