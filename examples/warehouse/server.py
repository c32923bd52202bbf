"""A query server over DuckDB that asks before a statement is costly, changes something or reaches personal data."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from pathlib import Path
from textwrap import fill

import anyio.to_thread
import duckdb
from mcp.server.mcpserver import MCPServer

from handraise import Handraise
from handraise.guards import Catalogue, SqlGuard
from handraise.guards.sql import DuckDB

CATALOGUE = Path(__file__).with_name("personal.toml")
DATA = """
CREATE TABLE people AS SELECT i AS id, 'Person ' || i AS name, 'person' || i || '@example.org' AS email,
    DATE '1950-01-01' + CAST(i * 37 % 20000 AS INTEGER) AS born, 'City ' || i % 40 AS city FROM range({people}) t(i);
CREATE TABLE orders AS SELECT i AS id, i % {people} AS person_id, 10 + i % 490 AS total,
    DATE '2024-01-01' + CAST(i % 700 AS INTEGER) AS placed FROM range({orders}) t(i);
CREATE VIEW buyers AS SELECT p.id, p.email AS contact, o.total FROM people p JOIN orders o ON o.person_id = p.id;
"""
DESCRIBE = """
SELECT table_name, string_agg(column_name || ' ' || data_type, ', ' ORDER BY column_index) AS columns
FROM duckdb_columns() WHERE NOT internal GROUP BY table_name ORDER BY table_name
"""
MOST_ROWS = 200


def make_warehouse(
    *,
    people: int = 20_000,
    orders: int = 2_000_000,
    rows: int = 1_000_000,
    ledger: Path | None = None,
    exports: Path | None = None,
) -> MCPServer:
    """The server with its data, which is made up."""
    database = duckdb.connect()
    database.execute(DATA.format(people=people, orders=orders))
    guard = SqlGuard(DuckDB(database), Catalogue.from_toml(CATALOGUE), rows=rows)
    server = Handraise(ledger=ledger).install(MCPServer("warehouse"))

    def run(statement: str, most: int | None = None) -> tuple[list[str], list[tuple[object, ...]]]:
        with database.cursor() as cursor:
            found = cursor.execute(statement)
            names = [column[0] for column in found.description or ()]
            return names, found.fetchall() if most is None else found.fetchmany(most)

    @server.tool()
    async def query(sql: str) -> str:
        """Run one statement of DuckDB's SQL; at most 200 rows come back, as CSV."""
        names, found = await anyio.to_thread.run_sync(run, await guard.approve(sql), MOST_ROWS + 1)
        more = f"\nThere is more; only {MOST_ROWS} rows are shown." if len(found) > MOST_ROWS else ""
        return as_csv(names, found[:MOST_ROWS]) + more

    @server.tool()
    async def describe() -> str:
        """The tables and views with their columns."""
        return as_csv(*await anyio.to_thread.run_sync(run, DESCRIBE))

    @server.tool()
    async def export(sql: str, file: str) -> str:
        """Write the result of a statement to a CSV file in the server's folder."""
        target = (exports or Path.cwd()) / file
        if Path(file).name != file or target.suffix != ".csv" or not file.isprintable():
            return "Nothing was written. Name a file like orders.csv, without a folder."
        found = "replaces the file" if target.exists() else "makes the file"
        approved = await guard.approve(sql, also=f"It {found} {file}.")
        names, rows = await anyio.to_thread.run_sync(run, approved)
        target.write_text(as_csv(names, rows), encoding="utf-8")
        return f"{len(rows):,} rows were written to {file}."

    return server


def as_csv(names: list[str], rows: list[tuple[object, ...]]) -> str:
    """A table as text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue()


EXAMPLES = """
try:
  python examples/warehouse/server.py              for a client that starts servers
  python examples/warehouse/server.py --http 8000  at http://127.0.0.1:8000/mcp
  handraise gateway -- python examples/warehouse/server.py
                                                   for a client that cannot be asked

then have the model run:
  SELECT city, count(*) FROM people GROUP BY city  runs without a question
  SELECT contact FROM buyers                       2,000,000 rows and people.email:
                                                   one question about both
  DELETE FROM orders                               changes data: a question
"""


def arguments() -> argparse.ArgumentParser:
    """What the program can be told."""
    parser = argparse.ArgumentParser(
        description=fill(str(__doc__), 79),
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--http", type=int, metavar="PORT", help="serve over HTTP at this port of this machine"
    )
    parser.add_argument("--people", type=int, default=20_000, metavar="N", help="how many to make up (20000)")
    parser.add_argument(
        "--orders", type=int, default=2_000_000, metavar="N", help="how many to make up (2000000)"
    )
    parser.add_argument(
        "--rows", type=int, default=1_000_000, metavar="N", help="ask above so many rows (1000000)"
    )
    parser.add_argument(
        "--ledger", type=Path, metavar="FILE", help="record questions and decisions in this file"
    )
    parser.add_argument(
        "--exports", type=Path, metavar="FOLDER", help="where export writes (the working directory)"
    )
    return parser


def main() -> None:
    """Serve on standard input and output, or over HTTP on this machine."""
    given = vars(arguments().parse_args())
    port = given.pop("http")
    server = make_warehouse(**given)
    if port is None:
        server.run("stdio")
    else:
        print(f"The warehouse is at http://127.0.0.1:{port}/mcp; Ctrl-C ends it.", file=sys.stderr)
        server.run("streamable-http", host="127.0.0.1", port=port)


if __name__ == "__main__":
    main()
