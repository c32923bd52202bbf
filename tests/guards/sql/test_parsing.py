"""Taking a text apart: what has been read before is known by its shape, and what is doubtful is refused."""

from __future__ import annotations

import pytest

from handraise.guards.sql.parsing import MAX_TEXT, Unreadable, parse, split

pytestmark = pytest.mark.shows("U4")

DIALECTS = pytest.mark.parametrize("dialect", ["duckdb", "postgres", "trino"])


def shape(text: str, dialect: str) -> object:
    return split(text, dialect).shape


@DIALECTS
def test_texts_that_differ_in_numbers_blanks_and_comments_have_one_shape(dialect: str) -> None:
    one = shape("SELECT a FROM t WHERE b > 1", dialect)
    assert one == shape("SELECT a\nFROM t -- c\nWHERE b > 2.5e9", dialect)


@DIALECTS
@pytest.mark.parametrize(
    "other",
    [
        "SELECT a FROM t WHERE b > '1'",
        "SELECT a FROM u WHERE b > 1",
        'SELECT "a" FROM t WHERE b > 1',
        "SELECT A FROM t WHERE b > 1",
        "SELECT 'a' FROM t WHERE b > 1",
        "SELECT a FROM t WHERE b > 1; SELECT 1",
        "SELECT a FROM t WHERE b >= 1",
    ],
)
def test_all_others_have_shapes_of_their_own(dialect: str, other: str) -> None:
    assert shape("SELECT a FROM t WHERE b > 1", dialect) != shape(other, dialect)


@DIALECTS
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT 1 /* /* */ */", "comment within a comment"),
        ("SELECT 1 {# x #}", "comment within a comment"),
        ("SELECT 'a", "cannot be parsed"),
        ("x" * (MAX_TEXT + 1), "more than 20,000 characters"),
        ("SELECT " + "(" * 101 + "1" + ")" * 101, "more than 100 brackets"),
        ("SELECT 1 FROM " + "(" * 5000 + "orders" + ")" * 5000, "more than 100 brackets"),
        ("SELECT " + "[" * 101 + "1" + "]" * 101, "more than 100 brackets"),
        ("SELECT " + "{'a': " * 101 + "1" + "}" * 101, "more than 100 brackets"),
        ("-- nothing", "no statement"),
        (";;", "no statement"),
    ],
)
def test_what_is_doubtful_is_refused_with_a_sentence(dialect: str, text: str, told: str) -> None:
    with pytest.raises(Unreadable, match=told):
        parse(split(text, dialect))


@pytest.mark.parametrize("value", ["(1)", "[1]", "{'a': 1}"])
def test_brackets_beside_each_other_may_be_many(value: str) -> None:
    assert len(parse(split(f"SELECT {', '.join([value] * 101)}", "duckdb")).statements) == 1
