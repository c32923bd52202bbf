"""Reading a text over a schema: views of views, and what is too much to be read or shown."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

import pytest
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from tests.guards.sql.test_corpus import CATALOGUE, SCHEMA

from handraise.guards.sql import Catalogue, Relation, Schema
from handraise.guards.sql.effects import SqlReader
from handraise.guards.sql.guard import DEFAULT_ROWS, SqlVerdict
from handraise.guards.sql.parsing import UnreadableSql

pytestmark = pytest.mark.shows("U4")

PEOPLE = Relation(("main", "people"), ("id", "email"))
EMAIL = Catalogue({"people": {"email": ["contact"]}})


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM orders",
        "SELECT city, id FROM people WHERE id = 1",
        "SELECT total FROM orders ORDER BY total LIMIT 5",
        "SELECT 1",
    ],
)
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "trino"])
def test_no_statement_is_so_plain_that_sqlglot_does_not_read_it(
    text: str, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second reader would be a second opinion on which statements are harmless."""
    SqlReader(dialect, SCHEMA, CATALOGUE).read(text)

    def reads_nothing(*_: object, **__: object) -> None:
        raise ParseError("cannot read it")

    monkeypatch.setattr(Dialect, "parser", reads_nothing)
    with pytest.raises(UnreadableSql):
        SqlReader(dialect, SCHEMA, CATALOGUE).read(text)


def test_views_of_views_are_looked_at_once_however_many_there_are() -> None:
    names = [f"c{at}" for at in range(20)]
    people = Relation(("main", "people"), (*names, "email"))
    views = [
        Relation(
            ("main", f"v{at}"),
            (*names, "email"),
            f"SELECT {', '.join(names)}, email FROM {'people' if at == 0 else f'v{at - 1}'}",
        )
        for at in range(60)
    ]
    reader = SqlReader("postgres", Schema((people, *views)), EMAIL)
    assert [name for name, _ in reader.read("SELECT * FROM v59").columns] == ["people.email"]
    assert not reader.read("SELECT c1 FROM v59").columns


def test_what_has_too_much_within_each_other_is_refused() -> None:
    views = [
        Relation(("main", f"v{at}"), ("id",), f"SELECT id FROM {f'v{at - 1}' if at else 'people'}")
        for at in range(400)
    ]
    reader = SqlReader("postgres", Schema((PEOPLE, *views)), EMAIL)
    for text in ("SELECT id FROM v399", "SELECT " + "NOT " * 4000 + "true"):
        with pytest.raises(UnreadableSql, match="too much within each other"):
            reader.read(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "a." * 9000 + "b FROM people",
        "SELECT " + "nothing, " * 1000 + "1 FROM people" + " UNION SELECT id FROM people" * 300,
        "SELECT " + "*, " * 4000 + "1 FROM people" + "".join(f", wide o(x{at})" for at in range(250)),
    ],
    ids=["a long name", "names that mean nothing", "stars"],
)
def test_a_text_made_to_take_long_does_not(text: str) -> None:
    names = tuple(f"c{at}" for at in range(200))
    wide = Relation(("main", "wide"), names, f"SELECT {', '.join(names)} FROM narrow")
    narrow = Relation(("main", "narrow"), names)
    reader = SqlReader("duckdb", Schema((PEOPLE, wide, narrow)), EMAIL)
    began = process_time()
    assert [name for name, _ in reader.read(text).columns] == ["people.email"]
    assert process_time() - began < 5


def test_a_view_of_itself_is_refused() -> None:
    turning = (
        Relation(("main", "a"), ("id",), "SELECT id FROM b"),
        Relation(("main", "b"), ("id",), "SELECT id FROM a"),
    )
    reader = SqlReader("postgres", Schema(turning), EMAIL)
    for _ in range(2):
        with pytest.raises(UnreadableSql, match="a view of itself"):
            reader.read("SELECT id FROM a")


def test_a_view_that_cannot_be_read_is_refused_and_those_beside_it_are_not() -> None:
    odd = Relation(("main", "odd"), ("id",), "SELECT FROM WHERE (")
    reader = SqlReader("duckdb", Schema((PEOPLE, odd)), EMAIL)
    with pytest.raises(UnreadableSql):
        reader.read("SELECT id FROM odd")
    assert reader.read("SELECT id FROM people").kinds == ("read",)


@pytest.mark.parametrize(
    ("columns", "definition"),
    [
        (("a", "b"), "VALUES (1, (SELECT max(email) FROM people)), (2, 'x')"),
        (("a", "b", "email"), "SELECT id, unnest(people) FROM people"),
        (("id", "email"), "SELECT p.*, n.* FROM people p, nothing n"),
    ],
    ids=["rows", "a row taken apart", "stars"],
)
def test_a_view_whose_columns_cannot_be_told_apart_reaches_by_each_what_all_do(
    columns: tuple[str, ...], definition: str
) -> None:
    view, nothing = Relation(("main", "v"), columns, definition), Relation(("main", "nothing"), ())
    reader = SqlReader("duckdb", Schema((PEOPLE, nothing, view)), EMAIL)
    for column in columns:
        assert [name for name, _ in reader.read(f"SELECT {column} FROM v").columns] == ["people.email"]


def test_a_listed_column_is_reached_by_its_name_though_the_engine_did_not_tell_of_it() -> None:
    listed = Catalogue({"people": {"phone": [], "fax": []}, "v": {"fax": []}})
    view = Relation(("main", "v"), ("id",), "SELECT id FROM people")
    reader = SqlReader("duckdb", Schema((PEOPLE, view)), listed)
    for text in ("SELECT phone FROM people", "SELECT p.phone FROM people p"):
        assert [name for name, _ in reader.read(text).columns] == ["people.phone"]
    assert [name for name, _ in reader.read("SELECT * FROM v").columns] == ["v.fax"]


def test_what_a_view_joins_by_is_reached_by_each_of_its_columns() -> None:
    notes = Relation(("main", "notes"), ("id", "sender"))
    joined = "SELECT p.id, n.id AS note FROM people p JOIN notes n ON n.sender = p.email"
    view = Relation(("main", "v"), ("id", "note"), joined)
    reader = SqlReader("duckdb", Schema((PEOPLE, notes, view)), EMAIL)
    assert [name for name, _ in reader.read("SELECT note FROM v").columns] == ["people.email"]


def test_a_star_behind_a_column_brings_what_is_inside_of_that_one_only() -> None:
    people = Relation(("main", "people"), ("id", "email", "place"))
    reader = SqlReader("duckdb", Schema((people,)), EMAIL)
    assert not reader.read("SELECT place.* FROM people").columns


def test_a_function_in_a_view_is_one_of_the_statement() -> None:
    view = Relation(("main", "v"), ("id",), "SELECT leak(id) AS id FROM people")
    reader = SqlReader("postgres", Schema((PEOPLE, view), frozenset({"leak"})), EMAIL)
    for _ in range(2):
        assert reader.read("SELECT count(*) FROM v").functions == ("leak",)
    assert reader.read("SELECT count(*) FROM people").functions == ()


def test_tags_of_a_view_count_beside_those_behind_it() -> None:
    view = Relation(("main", "v"), ("id", "mail"), "SELECT id, email FROM people")
    reader = SqlReader(
        "duckdb", Schema((PEOPLE, view)), Catalogue({"v": {"mail": ["x"]}, "people": {"email": []}})
    )
    assert reader.read("SELECT mail FROM v").columns == (("people.email", ()), ("v.mail", ("x",)))


@pytest.mark.parametrize(
    ("text", "can"),
    [
        ("SELECT id FROM orders", True),
        ("DELETE FROM orders", True),
        ("SELECT 1; SELECT id FROM orders", False),
        ("DROP TABLE orders", False),
        ("COPY orders TO 'x.csv'", False),
        ("SELECT leak(id) FROM orders", False),
    ],
)
def test_only_what_planning_cannot_run_is_planned(text: str, can: bool) -> None:
    assert SqlReader("duckdb", SCHEMA, CATALOGUE).read(text).can_be_estimated is can


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (";".join(["SELECT 1"] * 11), "more than 10 statements"),
        ("; ".join(f"CREATE TABLE {'a' * 50}{at} (id INT)" for at in range(9)), "run it in several parts"),
        (f'DROP TABLE "{"x" * 161}"', "more characters than a question can show"),
        ('DROP TABLE "' + "\u202e\u202d" * 15 + '"', "more characters than a question can show"),
    ],
)
def test_changes_that_a_question_cannot_name_are_refused(text: str, told: str) -> None:
    with pytest.raises(UnreadableSql, match=told):
        SqlReader("duckdb", SCHEMA, CATALOGUE).read(text)


def test_several_statements_are_asked_about_however_harmless_each_is() -> None:
    reading = SqlReader("duckdb", SCHEMA, CATALOGUE).read("SELECT 1; SELECT id FROM orders")
    assert (reading.kinds, reading.columns, reading.functions) == (("read", "read"), (), ())
    assert SqlVerdict(reading, None, DEFAULT_ROWS).asks


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "trino"])
@pytest.mark.parametrize(
    "call",
    [
        "ai_agg('x', 'y')",
        "ai_classify('x', 'y')",
        "ai_embed('x')",
        "a_i_forecast('x')",
        "ai_generate('x')",
        "ai_similarity('x')",
        "ai_summarize_agg('x')",
        "features_at_time('x')",
        "gap_fill('orders', 'y', 'z')",
        "generate_bool('x')",
        "generate_double('x')",
        "generate_embedding('x', 'y')",
        "generate_int('x')",
        "generate_table('x')",
        "generate_text('x')",
        "m_l_forecast('x')",
        "m_l_translate('x', 'y', 'z')",
        "next_value_for('x')",
        "predict('x', 'y')",
        "read_csv('x')",
        "read_parquet('x')",
        "secret('x', 'y')",
        "to_file('x')",
        "vector_search('x', 'y', 'z')",
    ],
)
def test_they_are_asked_about(dialect: str, call: str) -> None:
    assert len(SqlReader(dialect, SCHEMA, CATALOGUE).read(f"SELECT {call}").functions) == 1


@pytest.mark.parametrize("call", ["btrim(name)", "BTRIM(name)", '"btrim"(name)', "Btrim(name)"])
def test_what_only_computes_is_not_asked_about_however_it_is_written(call: str) -> None:
    assert SqlReader("postgres", SCHEMA, CATALOGUE).read(f"SELECT {call} FROM orders").functions == ()


@pytest.mark.parametrize(
    ("call", "names"),
    [
        ("ZZ(read_csv('x'), Aa(1))", ("zz", "read_csv", "aa")),
        ("zz_made(aa_made(1), 1)", ("aa_made", "zz_made")),
        ("1 OPERATOR(public.+) 2", ("public.+",)),
    ],
)
def test_they_are_named_once_each_in_one_spelling(call: str, names: tuple[str, ...]) -> None:
    schema = replace(SCHEMA, functions=frozenset({"ZZ_made", "aa_made"}))
    assert SqlReader("postgres", schema, CATALOGUE).read(f"SELECT {call}, {call}").functions == names
