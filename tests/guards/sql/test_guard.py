"""`SqlGuard` in front of real engines: estimates of their own, one question, and nothing run without a yes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import duckdb
import mcp_types as types
import psycopg
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.guards.sql.test_corpus import CATALOGUE, CORPUS, SCHEMA
from tests.postgres import PostgresServer
from tests.server.peers import CANCEL, DECLINE, REVISIONS, Person, accept, connect, text_of
from tests.server.rounds import by_hand

from handraise import Handraise
from handraise.errors import CATEGORY, GuardRefused
from handraise.forms import DEFAULT_LIMITS
from handraise.guards import Catalogue, SqlGuard
from handraise.guards.sql import DuckDB, Postgres, Schema
from handraise.guards.sql.engines import CannotEstimate
from handraise.revisions import Revision

pytestmark = [pytest.mark.slow, pytest.mark.anyio, pytest.mark.shows("U4")]

YES = accept(answer=True)
TABLES = """
CREATE TABLE people(id INT, name TEXT, email TEXT, born DATE, city TEXT, "größe" INT);
CREATE TABLE orders(id INT, person_id INT, total INT, name TEXT);
CREATE SCHEMA crm;
CREATE TABLE crm.leads(id INT, phone TEXT, note TEXT);
"""
VIEWS = "".join(
    f"CREATE VIEW {each.path[-1]} AS {each.definition};" for each in SCHEMA.relations if each.definition
)
MANY = "SELECT count(*) FROM orders a, orders b"


def fill(series: str) -> str:
    return (
        "INSERT INTO people SELECT i, 'n' || i, 'p' || i || '@x.org', DATE '1970-01-01', 'c' || i % 9, i "
        f"FROM {series};"
        f"INSERT INTO orders SELECT i, i % 500, i, 'o' || i FROM {series};"
    )


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(TABLES + VIEWS + fill("range(2000) t(i)"))
        connection.execute("CREATE MACRO leak(x) AS x")
        yield connection


@pytest.fixture
async def pg(postgres_server: PostgresServer) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    bare = postgres_server.url()
    async with await psycopg.AsyncConnection.connect(bare, autocommit=True) as connection:
        await connection.execute("CREATE SCHEMA guarded; SET search_path = guarded")
        await connection.execute(
            TABLES.encode() + VIEWS.encode() + fill("generate_series(1, 2000) i").encode()
        )
        await connection.execute("CREATE FUNCTION leak(x int) RETURNS int LANGUAGE sql AS 'SELECT x'")
        await connection.execute("ANALYZE people; ANALYZE orders")
        yield connection
        await connection.execute("DROP SCHEMA guarded CASCADE; DROP SCHEMA crm CASCADE")


class Server:
    """A server with one tool, which runs what was approved."""

    def __init__(
        self, guard: SqlGuard, connection: duckdb.DuckDBPyConnection, also: str | None = None
    ) -> None:
        self.ran: list[str] = []
        self.app = Handraise().install(MCPServer("warehouse"))

        @self.app.tool()
        async def query(sql: str) -> str:
            statement = await guard.approve(sql, also=also)
            self.ran.append(statement)
            return str(connection.execute(statement).fetchall())

    async def call(self, sql: str, revision: Revision, person: Any) -> tuple[str, str | None]:
        async with connect(self.app, revision, person) as client:
            result = await client.call_tool("query", {"sql": sql})
        return text_of(result), (result.meta or {}).get(CATEGORY)


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    return Revision(request.param)


async def test_a_query_that_needs_no_question_runs(duck: Any, revision: Revision) -> None:
    server = Server(SqlGuard(DuckDB(duck), CATALOGUE), duck)
    assert await server.call("SELECT max(total) FROM orders", revision, Person()) == ("[(1999,)]", None)


async def test_one_question_names_the_columns_and_the_cost(duck: Any, revision: Revision) -> None:
    server = Server(SqlGuard(DuckDB(duck), CATALOGUE, rows=1000), duck)
    statement = "SELECT p.email FROM people p JOIN orders o ON o.person_id = p.id  -- once"
    person = Person(lambda _: YES if not server.ran else None)
    await server.call(statement, revision, person)
    assert server.ran == [statement]
    (message,) = person.messages
    assert "people.email (contact)" in message
    assert "rows; you are asked above 1,000." in message
    assert statement.removesuffix("  -- once") in message
    assert "6 of them comments that are not shown" in message
    assert '"guard":true' in person.asked[0].model_dump_json(by_alias=True), "desks may translate its lines"


@pytest.mark.parametrize(
    ("answer", "category"),
    [(DECLINE, "user_declined"), (accept(answer=False), "user_declined"), (CANCEL, "user_cancelled")],
    ids=["decline", "no", "cancel"],
)
async def test_without_a_yes_nothing_runs(duck: Any, revision: Revision, answer: Any, category: str) -> None:
    server = Server(SqlGuard(DuckDB(duck), CATALOGUE), duck)
    for statement in ("SELECT email FROM people", "DELETE FROM orders", "SELECT 1; DROP TABLE orders"):
        told, found = await server.call(statement, revision, Person(answer))
        assert found == category
        assert "this statement" in told
    assert server.ran == []
    assert duck.execute("SELECT count(*) FROM orders").fetchall() == [(2000,)]


async def test_a_client_that_cannot_be_asked_gets_nothing(duck: Any, revision: Revision) -> None:
    server = Server(SqlGuard(DuckDB(duck), CATALOGUE), duck)
    if revision.modern:
        async with by_hand(server.app) as rounds:
            rounds.capabilities = {}
            with pytest.raises(MCPError, match="their client cannot"):
                await rounds.call("query", {"sql": "SELECT email FROM people"})
    else:
        assert (await server.call("SELECT email FROM people", revision, None))[1] == "not_supported"
    assert server.ran == []


async def test_what_cannot_be_read_or_estimated_is_refused(duck: Any, revision: Revision) -> None:
    server = Server(SqlGuard(DuckDB(duck), CATALOGUE), duck)
    for statement, category in {
        "SELEC email FROM people": "cannot_parse",
        "SELECT * FROM 'x.csv'": "cannot_parse",
        "SELECT nothing_like_it FROM orders": "cannot_estimate",
    }.items():
        told, found = await server.call(statement, revision, Person())
        assert found == category
        assert told.startswith(f"{category}: this statement does not run. ")
        assert ("The guard cannot tell what it does. It" in told) is (category == "cannot_parse")
    assert server.ran == []


@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT 1 /* {'harmless ' * 200} */; DELETE FROM people",
        f"/* {'harmless ' * 200} */ DELETE FROM people",
        f"-- {'harmless ' * 200}\nDELETE FROM people",
        "SELECT 1;" + " \n" * 1500 + "DELETE FROM people",
        f"SELECT '{'harmless ' * 200}'; DELETE FROM people",
        f"UPDATE orders SET name = '{'harmless ' * 200}'; DELETE FROM people",
    ],
    ids=["comment between", "comment before", "line comment", "blanks", "string", "other change"],
)
async def test_nothing_pushes_a_change_out_of_sight(duck: Any, revision: Revision, statement: str) -> None:
    server = Server(SqlGuard(DuckDB(duck), CATALOGUE), duck)
    person = Person(DECLINE)
    assert (await server.call(statement, revision, person))[1] == "user_declined"
    (message,) = person.messages
    reasons, _, shown = (
        message.partition("statement (") if ";" not in statement else message.partition("statements (")
    )
    assert "DELETE FROM people" in reasons
    assert "DELETE FROM people" in shown
    assert len(message.encode()) <= DEFAULT_LIMITS.message


@pytest.mark.parametrize("statement", ["LISTEN orders", "NOTIFY orders", "CHECKPOINT"])
async def test_a_statement_without_a_known_keyword_is_refused_in_words_that_it_has(
    duck: Any, revision: Revision, statement: str
) -> None:
    server = Server(SqlGuard(DuckDB(duck), CATALOGUE), duck)
    told, found = await server.call(statement, revision, Person())
    assert (found, "It begins with no keyword that the guard knows." in told) == ("cannot_parse", True)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE FUNCTION f(x) AS x + 1",
        "CREATE MACRO f(x) AS (SELECT max(email) FROM people)",
        "CREATE OR REPLACE MACRO leak(x) AS TABLE SELECT * FROM people",
    ],
)
async def test_a_statement_that_makes_a_function_is_refused(
    duck: Any, revision: Revision, statement: str
) -> None:
    server = Server(SqlGuard(DuckDB(duck), CATALOGUE), duck)
    told, found = await server.call(statement, revision, Person())
    assert found == "cannot_parse"
    assert "cannot see what it will do when it is called" in told
    assert server.ran == []


async def test_a_yes_is_for_one_call_only(duck: Any, revision: Revision) -> None:
    server = Server(SqlGuard(DuckDB(duck), CATALOGUE), duck)
    assert (await server.call("SELECT email FROM people LIMIT 1", revision, Person(YES)))[1] is None
    again = await server.call("SELECT email FROM people LIMIT 1", revision, Person(DECLINE))
    assert again[1] == "user_declined"
    assert len(server.ran) == 1


async def test_a_view_that_changed_while_the_person_thought_is_asked_about_again(
    duck: Any, revision: Revision
) -> None:
    server = Server(SqlGuard(DuckDB(duck), CATALOGUE), duck)

    def swap(_: Any) -> Any:
        duck.execute("CREATE OR REPLACE VIEW contacts AS SELECT id, name AS contact, city FROM people")
        return YES

    person = Person(swap, DECLINE)
    assert (await server.call("SELECT contact FROM contacts", revision, person))[1] == "user_declined"
    assert ["people.name" in message for message in person.messages] == [False, True]
    assert server.ran == []


async def test_what_else_a_call_does_is_asked_about_however_harmless_the_statement_is(
    duck: Any, revision: Revision
) -> None:
    server = Server(SqlGuard(DuckDB(duck), CATALOGUE), duck, also="It replaces the file a.csv.")
    person = Person(DECLINE, YES)
    assert (await server.call("SELECT id FROM orders", revision, person))[1] == "user_declined"
    assert server.ran == []
    assert (await server.call("SELECT id FROM orders", revision, person))[1] is None
    assert server.ran == ["SELECT id FROM orders"]
    assert person.messages[0].startswith(
        "Run this SQL?\n\n- It replaces the file a.csv.\n- It reads: orders.\n- It goes through about "
    )
    (asked, _) = person.asked
    assert isinstance(asked, types.ElicitRequestFormParams)
    assert asked.requested_schema["properties"]["answer"]["title"] == "Run it?"


class Looking(DuckDB):
    """A DuckDB that counts how often it was asked what it has."""

    looks = 0

    async def schema(self) -> Schema:
        self.looks += 1
        return await super().schema()


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_what_the_engine_has_is_remembered_for_a_while(duck: Any) -> None:
    engine, clock = Looking(duck), Clock()
    guard = SqlGuard(engine, CATALOGUE, clock=clock)
    looks = []
    for passed in (0.0, 4.9, 5.0, 9.9, 10.0):
        clock.now = 100 + passed
        await guard.judge("SELECT id FROM orders")
        looks.append(engine.looks)
    assert looks == [1, 1, 2, 2, 3]


@pytest.mark.parametrize("keep", [0, 0.0, -1])
async def test_or_not_at_all(duck: Any, keep: float) -> None:
    engine = Looking(duck)
    guard = SqlGuard(engine, CATALOGUE, keep_schema=keep, clock=Clock())
    for _ in range(3):
        await guard.judge("SELECT id FROM orders")
    assert engine.looks == 3


async def test_a_statement_that_names_what_is_not_known_is_read_anew_once(duck: Any) -> None:
    engine = Looking(duck)
    guard = SqlGuard(engine, CATALOGUE, clock=Clock())
    await guard.judge("SELECT id FROM orders")
    duck.execute("CREATE TABLE young(id INT)")
    assert not (await guard.judge("SELECT id FROM young")).asks
    assert engine.looks == 2
    with pytest.raises(GuardRefused):
        await guard.judge("SELECT id FROM nowhere")
    assert engine.looks == 3


async def test_what_is_looked_up_before_a_change_has_run_is_not_remembered(
    duck: Any, revision: Revision
) -> None:
    """Between the yes and its use another call may look, and would see the view as it was."""
    guard = SqlGuard(DuckDB(duck), CATALOGUE, clock=Clock())
    ran: list[str] = []
    app = Handraise().install(MCPServer("warehouse"))

    @app.tool()
    async def change(sql: str) -> str:
        statement = await guard.approve(sql)
        assert not (await guard.judge("SELECT id FROM contacts")).asks  # another call
        duck.execute(statement)
        ran.append(statement)
        return "changed"

    async with connect(app, revision, Person(YES)) as client:
        await client.call_tool("change", {"sql": "CREATE OR REPLACE VIEW contacts AS SELECT leak(1) AS id"})
    assert len(ran) == 1
    assert (await guard.judge("SELECT id FROM contacts")).effects.functions == ("leak",)


async def test_a_yes_is_used_after_another_look_and_what_changes_something_is_followed_by_some(
    duck: Any,
) -> None:
    engine, clock = Looking(duck), Clock()
    server = Server(SqlGuard(engine, CATALOGUE, clock=clock), duck)
    looks = []
    for passed, statement, person in (
        (0, "SELECT id FROM orders", Person()),
        (0, "SELECT email FROM people", Person(YES)),
        (0, "SELECT id FROM orders", Person()),
        (0, "CREATE OR REPLACE VIEW contacts AS SELECT id FROM people", Person(YES)),
        (0, "SELECT id FROM orders", Person()),
        (4.9, "SELECT id FROM orders", Person()),
        (5, "SELECT id FROM orders", Person()),
        (5, "SELECT leak(1)", Person(YES)),
        (9.9, "SELECT id FROM orders", Person()),
        (10, "SELECT id FROM orders", Person()),
    ):
        clock.now = 100.0 + passed
        assert (await server.call(statement, REVISIONS[-1], person))[1] is None
        looks.append(engine.looks)
    assert looks == [1, 2, 2, 3, 4, 5, 5, 6, 7, 7]


async def test_a_view_that_another_redefined_is_refused_when_the_plan_tells(duck: Any) -> None:
    guard = SqlGuard(DuckDB(duck), CATALOGUE, clock=Clock())
    assert not (await guard.judge("SELECT id FROM contacts")).asks
    duck.execute("CREATE OR REPLACE VIEW contacts AS SELECT id FROM crm.leads")
    with pytest.raises(
        GuardRefused, match=r"^cannot_parse: .* tables that it does not name: leads\. Write a simpler"
    ):
        await guard.judge("SELECT id FROM contacts")
    duck.execute("CREATE OR REPLACE VIEW contacts AS SELECT length(email) AS id FROM people")
    assert [name for name, _ in (await guard.judge("SELECT id FROM contacts")).columns] == ["people.email"]


async def test_an_answer_is_asked_for_again_while_the_statement_reaches_more(duck: Any) -> None:
    """Without a plan, too: nothing but another look tells that the view has changed."""
    server = Server(SqlGuard(DuckDB(duck), CATALOGUE, clock=Clock()), duck)

    def swap(_: Any) -> Any:
        duck.execute("CREATE OR REPLACE VIEW contacts AS SELECT id, name AS contact, city FROM people")
        return YES

    person = Person(swap, YES)
    await server.call("SELECT leak(contact) FROM contacts", REVISIONS[-1], person)
    assert ["people.name" in message for message in person.messages] == [False, True]
    assert len(server.ran) == 1


async def test_duckdb_estimates_and_never_runs(duck: Any) -> None:
    engine = DuckDB(duck)
    assert (await engine.estimate(MANY)).rows > 1_000_000
    assert 0 < (await engine.estimate("SELECT id FROM orders")).rows <= 2000
    assert (await SqlGuard(engine, CATALOGUE).judge("SELECT 1")).threshold == 1_000_000
    assert (await engine.estimate("DELETE FROM orders")).rows == 2000
    with pytest.raises(CannotEstimate, match="more than one"):
        await engine.estimate("SELECT 1; DROP TABLE orders")
    assert duck.execute("SELECT count(*) FROM orders").fetchall() == [(2000,)]


async def test_duckdb_agrees_with_the_corpus(duck: Any) -> None:
    await agree_with_corpus(SqlGuard(DuckDB(duck), CATALOGUE), "duckdb")


@pytest.mark.stranger
async def test_postgres_agrees_with_the_corpus(pg: psycopg.AsyncConnection[Any]) -> None:
    await agree_with_corpus(SqlGuard(Postgres(pg), CATALOGUE), "postgres")


@pytest.mark.stranger
async def test_postgres_estimates_and_never_runs(pg: psycopg.AsyncConnection[Any]) -> None:
    engine = Postgres(pg)
    assert (await engine.estimate(MANY)).rows == 4_000_000
    assert (await engine.estimate("SELECT id FROM orders")).rows == 2000
    assert (await engine.estimate("DELETE FROM orders")).rows == 2000
    with pytest.raises(CannotEstimate, match="multiple commands"):
        await engine.estimate("SELECT 1; DROP TABLE orders")
    verdict = await SqlGuard(engine, CATALOGUE).judge(MANY)
    assert (verdict.is_costly, verdict.rows) == (True, 4_000_000)
    found = await (await pg.execute("SELECT count(*) FROM orders")).fetchall()
    assert found == [(2000,)]


@pytest.mark.stranger
async def test_postgres_tells_of_tables_of_every_kind_and_of_nothing_that_is_gone(
    pg: psycopg.AsyncConnection[Any],
) -> None:
    await pg.execute(
        "CREATE TYPE place AS (street TEXT, email TEXT); ALTER TYPE place DROP ATTRIBUTE email;"
        "CREATE TABLE stays(id INT, email TEXT, at place, note TEXT DEFAULT 'email', CHECK (id > 0));"
        "ALTER TABLE stays DROP COLUMN email;"
        "CREATE TABLE trips(id INT, guest people) PARTITION BY LIST (id);"
        "CREATE TABLE trips_1 PARTITION OF trips FOR VALUES IN (1) PARTITION BY LIST (id);"
        "CREATE TABLE trips_1_1 PARTITION OF trips_1 FOR VALUES IN (1);"
        "CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER far FOREIGN DATA WRAPPER nothing;"
        "CREATE FOREIGN TABLE leads(id INT, email TEXT) SERVER far"
    )
    schema = await Postgres(pg).schema()
    await pg.execute("DROP FOREIGN DATA WRAPPER nothing CASCADE")
    found = {path: each for each in schema.relations if (path := each.path)[0] == "guarded"}
    stays, trips = found["guarded", "stays"], found["guarded", "trips"]
    assert (stays.columns, stays.computed) == (("id", "at", "note"), ())
    assert [(field.column, field.name) for field in stays.fields] == [("at", "street")]
    assert {field.name for field in trips.fields} == {"id", "name", "email", "born", "city", "größe"}
    assert found["guarded", "leads"].columns == ("id", "email")
    assert set(trips.parts) == {("guarded", "trips_1"), ("guarded", "trips_1_1")}
    assert set(found["guarded", "trips_1_1"].part_of) == {("guarded", "trips"), ("guarded", "trips_1")}
    assert found["guarded", "trips_1"].part_of == (("guarded", "trips"),)
    assert schema.functions == {"leak"}
    assert not [each for each in schema.relations if each.path[0] in ("pg_catalog", "information_schema")]


@pytest.mark.stranger
async def test_what_postgres_objects_to_is_one_line_and_leaves_your_transaction_as_it_was(
    pg: psycopg.AsyncConnection[Any], postgres_server: PostgresServer
) -> None:
    async with await psycopg.AsyncConnection.connect(postgres_server.url()) as mine:
        await mine.execute("SET search_path = guarded")
        await mine.execute("INSERT INTO orders VALUES (0, 0, 0, 'mine')")
        guard = SqlGuard(Postgres(mine), CATALOGUE)
        with pytest.raises(GuardRefused, match=r"cannot_estimate: .* does not exist") as caught:
            await guard.judge("SELECT nothing_like_it FROM orders")
        assert "\n" not in str(caught.value)
        found = await (await mine.execute("SELECT count(*) FROM orders WHERE name = 'mine'")).fetchall()
        assert found == [(1,)]
        await mine.rollback()
    for known in (guard, SqlGuard(Postgres(mine), CATALOGUE)):
        with pytest.raises(GuardRefused, match=r"cannot_estimate: .*the connection is closed"):
            await known.judge("SELECT id FROM orders")


@pytest.mark.stranger
async def test_comments_on_columns_are_a_catalogue(pg: psycopg.AsyncConnection[Any]) -> None:
    await pg.execute("COMMENT ON COLUMN people.city IS 'where they live; personal: location, contact'")
    await pg.execute("COMMENT ON COLUMN people.id IS 'a number, impersonal'")
    await pg.execute(
        "COMMENT ON COLUMN people.born IS 'PERSONAL'; COMMENT ON COLUMN crm.leads.id IS 'personal'"
    )
    await pg.execute("CREATE TABLE leads(id INT)")
    engine = Postgres(pg)
    guard = SqlGuard(engine, await engine.comments())
    for statement, expected in {
        "SELECT city FROM people": [("guarded.people.city", ("location", "contact"))],
        "SELECT born FROM people": [("guarded.people.born", ("personal",))],
        "SELECT id FROM people": [],
        "SELECT id FROM crm.leads": [("crm.leads.id", ("personal",))],
        "SELECT id FROM guarded.leads": [],
    }.items():
        assert list((await guard.judge(statement)).columns) == expected, statement


@pytest.mark.stranger
async def test_what_is_personal_in_a_table_is_personal_in_its_partitions(
    pg: psycopg.AsyncConnection[Any],
) -> None:
    await pg.execute(
        "CREATE TABLE visits(id INT, email TEXT, at DATE) PARTITION BY RANGE (at);"
        "CREATE TABLE visits_24 PARTITION OF visits FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');"
        "CREATE MATERIALIZED VIEW kept AS SELECT id, email AS contact FROM visits"
    )
    guard = SqlGuard(Postgres(pg), Catalogue({"visits": {"email": ["contact"]}}))
    for statement in ("SELECT id FROM visits", "SELECT id FROM visits_24", "SELECT id FROM kept"):
        assert not (await guard.judge(statement)).asks, statement
    for statement, column in {
        "SELECT email FROM visits": "visits.email",
        "SELECT email FROM visits_24": "visits_24.email",
        "SELECT contact FROM kept": "visits.email",
    }.items():
        ((name, tags),) = (await guard.judge(statement)).columns
        assert (name, tags) == (f"guarded.{column}", ("contact",))


@pytest.mark.stranger
async def test_what_is_personal_in_a_partition_is_personal_in_its_table(
    pg: psycopg.AsyncConnection[Any],
) -> None:
    await pg.execute(
        "CREATE TABLE visits(id INT, email TEXT, at DATE) PARTITION BY RANGE (at);"
        "CREATE TABLE visits_24 PARTITION OF visits FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');"
        "COMMENT ON COLUMN visits_24.email IS 'personal: contact'"
    )
    engine = Postgres(pg)
    guard = SqlGuard(engine, await engine.comments())
    assert (await guard.judge("SELECT email FROM visits")).columns == (
        ("guarded.visits.email", ("contact",)),
    )
    assert not (await guard.judge("SELECT id FROM visits")).asks


@pytest.mark.stranger
async def test_a_connection_on_which_strings_end_elsewhere_is_refused(
    pg: psycopg.AsyncConnection[Any],
) -> None:
    """What the guard reads as one string, PostgreSQL would read as two, with the name of a column between them."""
    guard = SqlGuard(Postgres(pg), CATALOGUE, clock=Clock())
    statement = r"SELECT 'a\'', email FROM people --', id FROM people"
    assert not (await guard.judge(statement)).asks
    await pg.execute("SET standard_conforming_strings = off; SET escape_string_warning = off")
    for text in (statement, "SELECT pg_sleep(0)", "SELECT id FROM nowhere"):
        with pytest.raises(GuardRefused, match="standard_conforming_strings is not on"):
            await SqlGuard(Postgres(pg), CATALOGUE).judge(text)
    with pytest.raises(GuardRefused, match="standard_conforming_strings is not on"):
        await guard.judge(statement)
    await pg.execute("RESET standard_conforming_strings")


INSIDE = (
    "SELECT guest FROM stays",
    "SELECT s.guest FROM stays s",
    "SELECT s FROM stays s",
    "SELECT * FROM stays",
)


async def ask_about_guests(guard: SqlGuard, *more: str) -> None:
    for statement in (*INSIDE, *more):
        columns = (await guard.judge(statement)).columns
        assert [name.rpartition(".")[2] for name, _ in columns] == ["guest"], statement
    assert not (await guard.judge("SELECT id FROM stays")).asks


async def test_a_struct_with_a_personal_name_inside_is_asked_about(duck: Any) -> None:
    duck.execute(
        "CREATE TYPE contact AS STRUCT(email TEXT, n INT); CREATE TABLE stays(id INT, guest contact[])"
    )
    await ask_about_guests(SqlGuard(DuckDB(duck), CATALOGUE), "SELECT guest[1].n FROM stays")


COMPOSITES = """
CREATE TYPE contact AS (email TEXT, n INT);
CREATE DOMAIN sure AS contact;
CREATE TYPE pair AS (a INT, b sure[]);
CREATE TYPE span AS RANGE (subtype = contact, multirange_type_name = spans);
"""


@pytest.mark.stranger
@pytest.mark.parametrize("kind", ["contact", "contact[]", "sure", "pair", "people", "span", "spans"])
async def test_a_composite_with_a_personal_name_inside_is_asked_about(
    pg: psycopg.AsyncConnection[Any], kind: str
) -> None:
    await pg.execute(f"{COMPOSITES} CREATE TABLE stays(id INT, guest {kind})".encode())
    await ask_about_guests(
        SqlGuard(Postgres(pg), CATALOGUE),
        "SELECT (s).guest FROM stays s",
        "SELECT row_to_json(s) FROM stays s",
    )


@pytest.mark.stranger
async def test_a_comment_on_what_a_composite_has_inside_counts(pg: psycopg.AsyncConnection[Any]) -> None:
    await pg.execute(
        "CREATE TYPE file AS (ssn TEXT, n INT); COMMENT ON COLUMN file.ssn IS 'personal: identity';"
        "CREATE TABLE stays(id INT, guest file)"
    )
    engine = Postgres(pg)
    await ask_about_guests(SqlGuard(engine, await engine.comments()), "SELECT (guest).n FROM stays")


GENERATED = """
CREATE TABLE visits(
    id INT, "E Mail" TEXT, twice INT GENERATED ALWAYS AS (id * 2) {stored},
    low TEXT GENERATED ALWAYS AS (lower("E Mail")) {stored}
)
"""


async def ask_about_what_is_computed(guard: SqlGuard) -> None:
    for statement in ("SELECT low FROM visits", "SELECT id FROM visits WHERE low = 'x'"):
        columns = (await guard.judge(statement)).columns
        assert ("low", ("contact",)) in [(name.rpartition(".")[2], tags) for name, tags in columns], statement
    assert not (await guard.judge("SELECT id, twice FROM visits")).asks


async def test_what_duckdb_computes_from_a_personal_column_is_personal(duck: Any) -> None:
    duck.execute(GENERATED.format(stored=""))
    catalogue = Catalogue({"visits": {"E Mail": ["contact"]}})
    await ask_about_what_is_computed(SqlGuard(DuckDB(duck), catalogue))


@pytest.mark.stranger
async def test_what_postgres_computes_from_a_personal_column_is_personal(
    pg: psycopg.AsyncConnection[Any],
) -> None:
    await pg.execute(GENERATED.format(stored="STORED").encode())
    catalogue = Catalogue({"visits": {"E Mail": ["contact"]}})
    await ask_about_what_is_computed(SqlGuard(Postgres(pg), catalogue))


async def test_an_engine_that_is_gone_refuses_with_a_sentence(duck: Any, revision: Revision) -> None:
    closed = duckdb.connect()
    server = Server(SqlGuard(DuckDB(closed), CATALOGUE), duck)
    closed.close()
    told, category = await server.call("SELECT 1", revision, Person())
    assert category == "cannot_estimate"
    assert "Connection already closed" in told
    assert server.ran == []


async def agree_with_corpus(guard: SqlGuard, dialect: str) -> None:
    """Nothing that the corpus asks about runs unasked on the engine itself."""
    for case in CORPUS:
        if dialect not in case.get("on", [dialect]):
            continue
        try:
            verdict = await guard.judge(case["text"])
        except GuardRefused:
            assert case["verdict"] != "run", case["text"]
            continue
        assert verdict.asks == (case["verdict"] == "ask"), case["text"]
        reached = [name.rpartition(".")[2] for name, _ in verdict.columns]
        assert reached == [name.rpartition(".")[2] for name in case.get("columns", [])], case["text"]
