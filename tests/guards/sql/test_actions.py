"""Every verb and table of a statement has a name, and no statement ends in an error of another kind than a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from random import Random

import duckdb
import pytest
from tests.campaigns import SEED, steps
from tests.guards.sql.statements import Statements, nearly_plain
from tests.guards.sql.test_corpus import CATALOGUE, CORPUS, SCHEMA
from tests.guards.sql.test_guard import TABLES, VIEWS

from handraise.guards.sql.effects import SqlEffects, SqlReader
from handraise.guards.sql.guard import MESSAGE, SqlVerdict, message
from handraise.guards.sql.parsing import UnreadableSql

pytestmark = pytest.mark.shows("U4")

DIALECTS = ("duckdb", "postgres", "trino")


def read(text: str, dialect: str) -> SqlEffects:
    return SqlReader(dialect, SCHEMA, CATALOGUE).read(text)


def changes(text: str, dialect: str = "postgres") -> list[str]:
    return [f"{each.verb} {each.name}" for each in read(text, dialect).actions if each.kind != "read"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("DELETE FROM people", ["DELETE FROM people"]),
        ("DELETE people", ["DELETE FROM people"]),
        ("DELETE FROM ONLY people USING orders WHERE true", ["DELETE FROM people"]),
        ("UPDATE people p SET city = 'x' FROM orders o", ["UPDATE people"]),
        ("INSERT INTO crm.leads (id) SELECT id FROM people", ["INSERT INTO crm.leads"]),
        ("INSERT INTO leads VALUES (1)", ["INSERT INTO crm.leads"]),
        (
            "INSERT INTO orders (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET id = 2",
            ["INSERT INTO or UPDATE orders"],
        ),
        ("WITH d AS (DELETE FROM people RETURNING *) SELECT * FROM d", ["DELETE FROM people"]),
        (
            "WITH d AS (DELETE FROM people RETURNING id), u AS (UPDATE orders SET total = 0 RETURNING id) "
            "INSERT INTO crm.leads (id) SELECT id FROM d UNION SELECT id FROM u",
            ["INSERT INTO crm.leads", "DELETE FROM people", "UPDATE orders"],
        ),
        (
            "MERGE INTO people p USING orders o ON p.id = o.id WHEN MATCHED AND o.id = 1 THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET city = '' WHEN NOT MATCHED THEN INSERT (id) VALUES (1)",
            ["MERGE (DELETE, UPDATE, INSERT) INTO people"],
        ),
        ("SELECT id INTO orders FROM people", ["SELECT INTO orders"]),
        ("SELECT id FROM people FOR UPDATE", ["LOCK ROWS OF people"]),
        ("UPDATE contacts SET city = 'x'", ["UPDATE contacts", "UPDATE people (behind contacts)"]),
        ("TRUNCATE people, orders", ["TRUNCATE people", "TRUNCATE orders"]),
        ("TRUNCATE people CASCADE", ["TRUNCATE CASCADE, with all that depends on people"]),
        ("DROP TABLE people, orders", ["DROP TABLE people", "DROP TABLE orders"]),
        ("DROP VIEW contacts CASCADE", ["DROP VIEW CASCADE, with all that depends on contacts"]),
        ("ALTER TABLE people RENAME TO old", ["ALTER TABLE people", "ALTER TABLE old"]),
        ("CREATE TABLE t (id INT REFERENCES people (id))", ["CREATE TABLE t"]),
        ("CREATE TABLE t AS SELECT id FROM people", ["CREATE TABLE t"]),
        ("CREATE OR REPLACE VIEW contacts AS SELECT 1", ["CREATE OR REPLACE VIEW contacts"]),
        ("CREATE INDEX i ON people (id)", ["CREATE INDEX people"]),
        ("CREATE TABLE t PARTITION OF people FOR VALUES IN (1)", ["CREATE TABLE t", "CREATE TABLE people"]),
        ("COMMENT ON TABLE people IS 'x'", ["COMMENT ON TABLE people"]),
        ("GRANT SELECT, DELETE ON people TO bob", ["GRANT SELECT, DELETE ON people TO bob"]),
        ("REVOKE ALL ON people FROM bob", ["REVOKE ALL ON people FROM bob"]),
        ("COPY people FROM 'x.csv'", ["COPY FROM A FILE INTO people", "COPY FROM A FILE INTO 'x.csv'"]),
        ("COPY people TO 'x.csv'", ["COPY TO A FILE FROM people", "COPY TO A FILE FROM 'x.csv'"]),
        ("SET search_path = 'x'", ["SET search_path = 'x'"]),
        ("DELETE FROM orders; UPDATE people SET id = 1", ["DELETE FROM orders", "UPDATE people"]),
        ("SELECT 1; SELECT id FROM orders", []),
    ],
)
def test_each_change_has_a_verb_and_a_name(text: str, named: list[str]) -> None:
    assert changes(text) == named


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("INSERT OR REPLACE INTO people SELECT * FROM people", ["INSERT OR REPLACE INTO people"]),
        ("ATTACH 'x.db' AS x (TYPE sqlite)", ["ATTACH 'x.db' AS x", "ATTACH TYPE sqlite"]),
        ("DETACH x", ["DETACH x"]),
        ("PRAGMA database_list", ["PRAGMA database_list"]),
        ("USE crm", ["USE crm"]),
        ("INSTALL httpfs", ["INSTALL httpfs"]),
        ("COPY (SELECT id FROM people) TO 'x'", ["COPY TO A FILE FROM a query", "COPY TO A FILE FROM 'x'"]),
    ],
)
def test_so_has_each_of_duckdb(text: str, named: list[str]) -> None:
    assert changes(text, "duckdb") == named


def test_tables_that_are_only_read_come_behind_the_changes() -> None:
    text = "DELETE FROM people USING crm.leads WHERE people.id IN (SELECT id FROM nested)"
    named = [(each.kind, each.name) for each in read(text, "postgres").actions]
    assert named == [("write", "people"), ("read", "contacts"), ("read", "crm.leads"), ("read", "nested")]


@pytest.mark.parametrize(
    "text",
    [
        "DO $$ BEGIN DELETE FROM people; END $$",
        "CALL wipe()",
        "EXECUTE p",
        "PREPARE p AS DELETE FROM people",
        "EXPLAIN ANALYZE DELETE FROM people",
        "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ DELETE FROM people $$",
        "CREATE FUNCTION f(x INT) RETURNS INT RETURN x",
        "CREATE FUNCTION f() RETURNS INT AS TABLE SELECT * FROM people",
        "CREATE PROCEDURE f() LANGUAGE sql AS 'DELETE FROM people'",
        "CREATE TRIGGER t BEFORE INSERT ON people EXECUTE FUNCTION f()",
        "CREATE RULE r AS ON INSERT TO people DO DELETE FROM orders",
        "CREATE MACRO f(x) AS x",
        "CREATE MACRO f() AS TABLE SELECT * FROM people",
        "SELECT 1; CALL wipe()",
        "BEGIN",
        "LOCK TABLE people",
        "SELECT id INTO copied FROM people",
        "DROP SCHEMA crm CASCADE",
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO bob",
        "LOAD 'x'",
        "COPY people TO PROGRAM 'sh -c id'",
        "COPY people FROM PROGRAM 'sh -c id'",
        "COPY (SELECT 1) TO PROGRAM 'sh -c id'",
        "VACUUM people",
        "REFRESH MATERIALIZED VIEW contacts",
        "ANALYZE people",
        "SHOW TABLES",
        "DESCRIBE people",
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_statement_whose_effect_cannot_be_seen_is_refused(text: str, dialect: str) -> None:
    with pytest.raises(UnreadableSql):
        read(text, dialect)


_HIDING = (
    "{}",
    "/* {long} */ {}",
    "{} -- {long}",
    "SELECT '{long}'; {}",
    "{}; SELECT '{long}'",
    "SELECT 1;\n\n\n{blanks}{}",
    "WITH x AS ({}) SELECT * FROM x",
    "WITH x AS ({} RETURNING *) SELECT * FROM x",
    "EXPLAIN ANALYZE {}",
    "PREPARE p AS {}",
    "COPY ({} RETURNING id) TO '/dev/null'",
    "CREATE TABLE made AS WITH x AS ({} RETURNING id) SELECT * FROM x",
    "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ {} $$",
    "DO $$ BEGIN {}; END $$",
    "SELECT 1 /*! ; {} */",
    "SELECT 1 /* /* */ ; {} */",
    "SELECT $$ -- $$; {}",
    "UPDATE orders SET name = '{long}'; {}",
    "BEGIN; {}; COMMIT",
    "{{#}} {} {{#}}",
    "({})",
)
_CHANGES = (
    "DELETE FROM {t}",
    "DELETE FROM {t} WHERE id IN (SELECT id FROM {u})",
    "DELETE FROM {t} USING {u}",
    "DELETE {t}",
    "UPDATE {t} SET id = 0",
    "UPDATE {t} SET id = {u}.id FROM {u}",
    "INSERT INTO {t} (id) SELECT id FROM {u}",
    "INSERT INTO {t} (id) VALUES (1)",
    "INSERT INTO {t} SELECT * FROM {u}",
    "MERGE INTO {t} USING {u} ON true WHEN MATCHED THEN DELETE",
    "MERGE INTO {t} USING {u} ON {t}.id = {u}.id WHEN NOT MATCHED THEN INSERT (id) VALUES (0)",
    "TRUNCATE {t}",
    "TRUNCATE TABLE {t}",
    "DROP TABLE {t}",
    "DROP TABLE {t}, {u}",
    "ALTER TABLE {t} RENAME TO other",
    "ALTER TABLE {t} ADD COLUMN z INT",
    "ALTER TABLE {t} DROP COLUMN id",
    "CREATE OR REPLACE TABLE {t} AS SELECT 1 AS id",
    "COPY {t} FROM '/dev/null'",
)


def campaign(seed: int, many: int) -> Iterator[str]:
    """Changes in all the ways in which somebody may hide them, and with a few words wrong."""
    chance = Random(seed)
    names = ("people", "orders", "crm.leads", "leads", '"people"', "PEOPLE", "contacts", "main.people")
    for _ in range(many):
        text = chance.choice(_CHANGES).format(t=chance.choice(names), u=chance.choice(names))
        for _ in range(chance.choice((1, 1, 2))):
            hiding = chance.choice(_HIDING)
            text = hiding.format(text, long="harmless " * chance.choice((1, 300)), blanks=" \n" * 1000)
        yield mangled(chance, text) if chance.random() < 0.3 else text


def mangled(chance: Random, text: str) -> str:
    """A text with one word gone, twice or another."""
    words = text.split(" ")
    at = chance.randrange(len(words))
    match chance.randrange(3):
        case 0:
            del words[at]
        case 1:
            words.insert(at, chance.choice(words))
        case _:
            words[at] = chance.choice(_WORDS)
    return " ".join(words)


_WORDS = (
    *("(", ")", ";", ".", ",", "*", "'", "--", "/*", "*/", "$$", "FROM", "AS", "ON", "TO"),
    *("TABLE", "VIEW", "WITH", "people", "CREATE", "DROP", "SET"),
)


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_statement_ends_in_anything_but_a_question_or_a_refusal(dialect: str) -> None:
    reader, statements, chance = SqlReader(dialect, SCHEMA, CATALOGUE), Statements(26, dialect), Random(26)
    asked = refused = 0
    for text in (
        *campaign(SEED, steps(300)),
        *nearly_plain(26, steps(150)),
        *(statements.statement() for _ in range(100)),
        *(case["text"] for case in CORPUS),
        *(mangled(chance, chance.choice(CORPUS)["text"]) for _ in range(steps(len(CORPUS)))),
    ):
        try:
            told = message(SqlVerdict(reader.read(text), None, 1000), text)
        except UnreadableSql:
            refused += 1
        else:
            asked += 1
            assert len(told) <= MESSAGE
    assert asked > 200
    assert refused > 200


@pytest.mark.slow
@pytest.mark.campaign
def test_every_table_that_duckdb_changes_is_named_before_the_text() -> None:
    """The engine itself tells which tables a statement changed."""
    reader, changed = SqlReader("duckdb", SCHEMA, CATALOGUE), 0
    engine = filled()
    before = {table: state(engine, table) for table in REAL}
    for text in campaign(SEED, steps(200)):
        with suppress(duckdb.Error):
            engine.execute(text)
        after = {table: state(engine, table) for table in REAL}
        if after == before:
            continue
        engine.close()
        engine = filled()
        with suppress(UnreadableSql):
            told = message(SqlVerdict(reader.read(text), None, 1000), text)
            changed += 1
            named, _, _ = told.partition(" characters")
            assert [table for table in REAL if after[table] != before[table] and table not in named] == [], (
                text
            )
    engine.close()
    assert changed > steps(25)


REAL = ("people", "orders", "crm.leads")


def filled() -> duckdb.DuckDBPyConnection:
    engine = duckdb.connect()
    engine.execute(TABLES + VIEWS)
    for table in REAL:
        engine.execute(f"INSERT INTO {table} (id) SELECT i FROM range(3) t(i)")
    return engine


def state(engine: duckdb.DuckDBPyConnection, table: str) -> object:
    """The columns and rows of a table; None when it is gone."""
    for _ in range(2):
        try:
            found = engine.execute(f"SELECT * FROM {table} ORDER BY ALL")
            return [column[0] for column in found.description], found.fetchall()
        except duckdb.TransactionException:
            engine.execute("ROLLBACK")  # the text began a transaction, which failed
        except duckdb.CatalogException:
            break
    return None
