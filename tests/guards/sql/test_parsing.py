"""Taking a text apart: into statements with the text that a person is shown; doubtful texts are refused."""

from __future__ import annotations

import pytest

from handraise.guards.sql.parsing import MAX_TEXT, UnreadableSql, parse

pytestmark = pytest.mark.shows("U4")

DIALECTS = pytest.mark.parametrize("dialect", ["duckdb", "postgres", "trino"])


@DIALECTS
@pytest.mark.parametrize(
    ("text", "shown", "comments"),
    [
        ("SELECT  a,\n\n\n   b -- once\nFROM t;", ("SELECT a,\nb\nFROM t",), 6),
        ("SELECT/* x */a /* y; z */ ; ; SELECT '--;' FROM t", ("SELECT a", "SELECT '--;' FROM t"), 12),
        ("SELECT a.b,c+1", ("SELECT a.b,c+1",), 0),
        ("SELECT \"a\"\"b\", 'it''s'", ("SELECT \"a\"\"b\", 'it''s'",), 0),
    ],
)
def test_each_statement_is_shown_as_it_is_written_but_for_comments_and_blanks(
    dialect: str, text: str, shown: tuple[str, ...], comments: int
) -> None:
    parsed = parse(text, dialect)
    assert (parsed.shown, parsed.comments) == (shown, comments)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_a_string_in_dollars_is_no_comment_and_no_statement(dialect: str) -> None:
    text = "SELECT $$ -- a; /* b */ $$, $x$;$x$"
    assert parse(text, dialect).shown == (text,)


@pytest.mark.parametrize("dialect", ["mysql", "sqlite", "bigquery", "nothing"])
def test_a_dialect_whose_comments_and_functions_the_guard_does_not_know_is_refused(dialect: str) -> None:
    with pytest.raises(UnreadableSql, match=f"does not read {dialect}"):
        parse("SELECT 1", dialect)


@DIALECTS
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT 1 /* /* */ */", "comment within a comment"),
        ("SELECT 1 {# x #}", "comment within a comment"),
        ("SELECT 1 /*! ; DELETE FROM people */", "comment that some engines run"),
        ("SELECT 1 /*!50000 ; DELETE FROM people */", "comment that some engines run"),
        ("SELECT 1 /*M! ; DELETE FROM people */", "comment that some engines run"),
        ("SELECT 'a", "cannot be parsed"),
        ("x" * (MAX_TEXT + 1), "more than 20,000 characters"),
        ("SELECT " + "(" * 101 + "1" + ")" * 101, "more than 100 brackets"),
        ("SELECT 1 FROM " + "(" * 5000 + "orders" + ")" * 5000, "more than 100 brackets"),
        ("SELECT " + "[" * 101 + "1" + "]" * 101, "more than 100 brackets"),
        ("SELECT " + "{'a': " * 101 + "1" + "}" * 101, "more than 100 brackets"),
        ("CREATE MATERIALIZED VIEW m ON AS SELECT * FROM people", "do not belong together"),
        ("-- nothing", "no statement"),
        (";;", "no statement"),
    ],
)
def test_what_is_doubtful_is_refused_with_a_sentence(dialect: str, text: str, told: str) -> None:
    with pytest.raises(UnreadableSql, match=told):
        parse(text, dialect)


@pytest.mark.parametrize("value", ["(1)", "[1]", "{'a': 1}"])
def test_brackets_beside_each_other_may_be_many(value: str) -> None:
    assert len(parse(f"SELECT {', '.join([value] * 101)}", "duckdb").statements) == 1
