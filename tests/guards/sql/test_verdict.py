"""What speaks for a question, what a yes covers, and what the person reads: every clause alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from handraise.forms import DEFAULT_LIMITS
from handraise.guards.sql import Catalogue, Estimate, Relation, Schema
from handraise.guards.sql.effects import SqlAction, SqlEffects
from handraise.guards.sql.guard import (
    MESSAGE,
    SqlVerdict,
    message,
    planned_columns,
    reasons,
    unnamed_tables,
)
from handraise.guards.sql.parsing import UnreadableSql

pytestmark = pytest.mark.shows("U4")

EMAIL = ("people.email", ("contact",))
HARMLESS = SqlEffects(("read",), (), frozenset(), ())
DELETE, READ = SqlAction("write", "DELETE FROM", "people"), SqlAction("read", "reads", "orders")
PEOPLE = Relation(("main", "people"), ("id", "Email"))
PART = Relation(("main", "people_24"), ("id", "Email"), part_of=(("main", "people"),))
SCHEMA = Schema((PEOPLE, PART))
CATALOGUE = Catalogue({"people": {"email": ["contact"]}})


def verdict(rows: int | None = 10, **effects: Any) -> SqlVerdict:
    """A verdict about a harmless statement, but for these effects."""
    return SqlVerdict(replace(HARMLESS, **effects), rows, 1000)


@pytest.mark.parametrize(
    ("change", "asks"),
    [
        ({}, False),
        ({"kinds": ("write",)}, True),
        ({"kinds": ("read", "definition")}, True),
        ({"kinds": ("outside",)}, True),
        ({"columns": (EMAIL,)}, True),
        ({"functions": ("leak",)}, True),
        ({"kinds": ("read", "read")}, True),
        ({"rows": 1000}, False),
        ({"rows": 1001}, True),
        ({"rows": None}, False),
    ],
)
def test_each_reason_alone_makes_a_question(change: dict[str, Any], asks: bool) -> None:
    assert verdict(**change).asks is asks


@pytest.mark.parametrize(
    ("before", "after", "covered"),
    [
        ({}, {}, True),
        ({"columns": (EMAIL,)}, {}, True),
        ({}, {"columns": (EMAIL,)}, False),
        ({"columns": (EMAIL,)}, {"columns": (("people.email", ("other",)),)}, False),
        ({"kinds": ("read", "write")}, {}, True),
        ({}, {"kinds": ("write",)}, False),
        ({"functions": ("leak",)}, {}, True),
        ({}, {"functions": ("leak",)}, False),
        ({"actions": (DELETE, READ)}, {"actions": (DELETE,)}, True),
        ({"actions": (READ,)}, {"actions": (DELETE, READ)}, False),
        ({"rows": 10}, {"rows": 1000}, True),
        ({"rows": 10}, {"rows": 1001}, False),
        ({"rows": 2000}, {"rows": 4000}, True),
        ({"rows": 2000}, {"rows": 4001}, False),
        ({"rows": None}, {"rows": 1001}, False),
        ({"rows": 2000}, {"rows": None}, True),
    ],
)
def test_a_yes_covers_nothing_more_and_at_most_twice_the_rows(
    before: dict[str, Any], after: dict[str, Any], covered: bool
) -> None:
    assert verdict(**before).covers(verdict(**after)) is covered


@pytest.mark.parametrize(
    ("column", "found"),
    [
        ((("main", "people"), "Email"), ("people.Email", ("contact",))),
        ((("db", "main", "PEOPLE"), "EMAIL"), ("PEOPLE.EMAIL", ("contact",))),
        ((("main", "people"), "id"), None),
        ((("main", "people_24"), "Email"), ("people_24.Email", ("contact",))),
        ((("other", "people"), "email"), ("other.people.email", ("contact",))),
        ((("main", "orders"), "email"), None),
    ],
)
def test_a_personal_column_of_the_plan_is_found_also_where_the_schema_does_not_have_its_table(
    column: Any, found: Any
) -> None:
    estimate = Estimate(1, columns=frozenset({column}))
    assert planned_columns(estimate, SCHEMA, CATALOGUE) == (() if found is None else (found,))


def test_a_function_is_asked_about_a_column_of_the_plan_that_the_schema_does_not_have() -> None:
    estimate = Estimate(1, columns=frozenset({(("a", "b"), "c")}))
    lookup = Catalogue(lookup=lambda table, column: ["x"] if (table, column) == ("a.b", "c") else [])
    assert planned_columns(estimate, SCHEMA, lookup) == (("a.b.c", ("x",)),)


@pytest.mark.parametrize(
    ("tables", "unnamed"),
    [
        ([("main", "people")], []),
        ([("MAIN", "PEOPLE")], []),
        ([("main", "people_24")], []),
        ([("main", "orders"), ("main", "people"), ("main", "leads")], ["leads", "orders"]),
    ],
)
def test_a_table_of_the_plan_that_the_text_does_not_reach_is_told(tables: Any, unnamed: list[str]) -> None:
    estimate = Estimate(1, tables=frozenset(tables))
    for known in (PEOPLE, Relation(("main", "People"), ("id",))):
        assert unnamed_tables(SqlEffects(("read",), (), frozenset({known}), ()), estimate, SCHEMA) == unnamed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"rows": 1}, ["It goes through about 1 row; you are asked above 1,000."]),
        ({"rows": 2345678}, ["It goes through about 2,345,678 rows; you are asked above 1,000."]),
        ({"rows": None}, ["The engine cannot estimate its cost before it runs."]),
        (
            {"kinds": ("read", "read"), "rows": None},
            ["It has 2 statements.", "The engine cannot estimate its cost before it runs."],
        ),
        (
            {
                "kinds": ("outside", "read", "write", "definition"),
                "rows": None,
                "actions": (
                    SqlAction("outside", "COPY TO A FILE FROM", "a"),
                    DELETE,
                    SqlAction("write", "UPDATE", "c"),
                    SqlAction("write", "DELETE FROM", "a\u202eb"),
                    SqlAction("definition", "DROP TABLE", "d"),
                    READ,
                    SqlAction("read", "reads", "e"),
                ),
            },
            [
                "It has 4 statements.",
                "It changes data: DELETE FROM people, a⟨U+202E⟩b; UPDATE c.",
                "It changes tables, views or rights: DROP TABLE d.",
                "It reaches files, other databases or settings: COPY TO A FILE FROM a.",
                "It reads: orders, e.",
                "The engine cannot estimate its cost before it runs.",
            ],
        ),
        (
            {"kinds": ("definition",), "actions": (SqlAction("definition", "CREATE TABLE", "kept"), DELETE)},
            [
                "It changes data: DELETE FROM people.",
                "It changes tables, views or rights: CREATE TABLE kept.",
                "It goes through about 10 rows; you are asked above 1,000.",
            ],
        ),
        (
            {"columns": (EMAIL, ("people.a\nb", ("x", "y")), ("people.c", ()))},
            [
                "It reaches personal data: people.email (contact), people.a⟨U+000A⟩b (x, y), people.c.",
                "It goes through about 10 rows; you are asked above 1,000.",
            ],
        ),
        (
            {"functions": ("leak", "a\u202eb"), "rows": None},
            [
                "It calls what may change data, or read files, the network or other tables: leak, a⟨U+202E⟩b.",
                "The engine cannot estimate its cost before it runs.",
            ],
        ),
    ],
)
def test_reasons_are_sentences_with_names_and_numbers(change: dict[str, Any], told: list[str]) -> None:
    assert [*reasons(verdict(**change))] == told


@pytest.mark.parametrize(("many", "more"), [(29, "c28."), (31, "c29 and 1 more."), (40, "c29 and 10 more.")])
def test_of_many_columns_the_first_are_named_and_the_others_counted(many: int, more: str) -> None:
    columns = tuple((f"t.c{at}", ()) for at in range(many))
    told = next(reasons(verdict(columns=columns)))
    assert told.endswith(f", t.{more}")


def test_long_names_are_cut() -> None:
    wide = verdict(columns=(("y" * 200, ()),), functions=("x" * 200,))
    told = "\n".join(reasons(wide))
    assert "y" * 40 in told
    assert "y" * 81 not in told
    assert "x" * 40 in told
    assert "x" * 61 not in told


def test_the_person_reads_the_reasons_the_statement_and_what_a_no_does() -> None:
    seen = verdict(shown=("SELECT\n1\u202e",), comments=4)
    assert message(seen, "SELECT\n1\u202e--ab", "It writes a file.") == (
        "Run this SQL?\n\n- It writes a file.\n- It goes through about 10 rows; you are asked above 1,000.\n\n"
        "The statement (13 characters, 4 of them comments that are not shown):\nSELECT\n1⟨U+202E⟩\n\n"
        "If you decline: It does not run, and the model is told that you said no."
    )
    assert message(verdict(), "SELECT 1").startswith("Run this SQL?\n\n- It goes through about ")


def test_of_long_statements_the_beginning_and_the_end_are_shown_and_the_rest_counted() -> None:
    long = "y" * 12_000, "a" * 7_000 + "z" * 8_000
    told = message(verdict(kinds=("read",) * 3, shown=(long[0], "SELECT 1", long[1])), "x" * 3020)
    assert "The 3 statements (3,020 characters):\nyyy" in told
    assert "yyy;\nSELECT 1;\naaa" in told
    assert "zzz\n\nIf you decline" in told
    for letter in "yaz":
        assert letter * 200 in told
    assert told.count("characters⟩") == 2
    assert len(told) <= MESSAGE


def test_a_statement_that_a_desk_shows_is_shown_whole() -> None:
    statement = "SELECT " + "1, " * 4_000 + "2"
    assert statement in message(verdict(shown=(statement,)), statement)


@pytest.mark.parametrize("odd", ["\u202e", "\u202e\u202d", "⟨", "\n" * 9, " " * 99])
@pytest.mark.parametrize("many", [1, 3, 10])
def test_a_question_is_never_longer_than_a_client_takes(odd: str, many: int) -> None:
    seen = verdict(kinds=("read",) * many, shown=(odd * (60_000 // len(odd) // many),) * many)
    told = message(seen, "x" * 60_000)
    assert len(told) <= MESSAGE
    assert len(told.encode()) <= DEFAULT_LIMITS.message


def test_a_question_whose_reasons_leave_no_room_for_the_statement_is_refused() -> None:
    with pytest.raises(UnreadableSql, match="run it in several parts"):
        message(verdict(shown=("SELECT 1",)), "SELECT 1", "x" * (MESSAGE - 300))
