"""What runs unasked shows nothing of a personal column: it gives the same over data that differs in those only."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import psycopg
import pytest
from tests.guards.sql.statements import Statements, nearly_plain
from tests.guards.sql.test_corpus import CATALOGUE
from tests.guards.sql.test_guard import TABLES, VIEWS
from tests.postgres import PostgresServer

from handraise.guards.sql import DuckDB, Postgres
from handraise.guards.sql.effects import SqlReader
from handraise.guards.sql.parsing import UnreadableSql

pytestmark = [pytest.mark.anyio, pytest.mark.shows("U4")]

MANY = 250


def data(mark: str, factor: int, series: str) -> str:
    """Rows that are the same but for what is personal in them."""
    return (
        f"INSERT INTO people SELECT i, '{mark}' || (i * {factor}) % 7, '{mark}@' || (i * {factor}) % 5, "
        f"DATE '1970-01-01' + CAST(i * {factor} AS INTEGER), 'c' || i % 3, i * {factor} FROM {series};"
        f"INSERT INTO orders SELECT i, i % 4, i, 'o' || i FROM {series};"
    )


def unasked(reader: SqlReader, text: str) -> bool:
    """By its text alone: the engine's plan would tell of more."""
    try:
        reading = reader.read(text)
    except UnreadableSql:
        return False
    return reading.kinds == ("read",) and not reading.columns and not reading.functions


def compare(reader: SqlReader, dialect: str, run: Callable[[str, str], list[str] | None]) -> int:
    """How many statements ran over both and gave the same."""
    statements, ran = Statements(20260728, dialect), 0
    for text in (*(statements.statement() for _ in range(MANY)), *nearly_plain(20260728, MANY)):
        if unasked(reader, text) and (one := run("one", text)) is not None:
            assert one == run("other", text), text
            ran += 1
    return ran


@pytest.mark.slow
async def test_on_duckdb() -> None:
    with duckdb.connect() as one, duckdb.connect() as other:
        for connection, mark, factor in ((one, "a", 1), (other, "bbb", 3)):
            connection.execute(TABLES + VIEWS + data(mark, factor, "range(6) t(i)"))
        connections = {"one": one, "other": other}

        def run(which: str, text: str) -> list[str] | None:
            try:
                return sorted(map(repr, connections[which].execute(text).fetchall()))
            except duckdb.Error:
                return None

        assert compare(SqlReader("duckdb", await DuckDB(one).schema(), CATALOGUE), "duckdb", run) > 10


@pytest.mark.slow
@pytest.mark.stranger
async def test_on_postgres(postgres_server: PostgresServer) -> None:
    urls = {"one": postgres_server.new_database(), "other": postgres_server.new_database()}
    for url, mark, factor in zip(urls.values(), ("a", "bbb"), (1, 3), strict=True):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute((TABLES + VIEWS + data(mark, factor, "generate_series(0, 5) t(i)")).encode())
    async with await psycopg.AsyncConnection.connect(urls["one"]) as connection_:
        reader = SqlReader("postgres", await Postgres(connection_).schema(), CATALOGUE)
    with (
        psycopg.connect(urls["one"], autocommit=True) as one,
        psycopg.connect(urls["other"], autocommit=True) as other,
    ):
        connections = {"one": one, "other": other}

        def run(which: str, text: str) -> list[str] | None:
            try:
                return sorted(map(repr, connections[which].execute(text.encode()).fetchall()))
            except psycopg.Error:
                return None

        assert compare(reader, "postgres", run) > 10
