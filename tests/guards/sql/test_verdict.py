"""What speaks for a question, what a yes covers, and what the person reads: every clause alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from handraise.guards.sql import Catalogue, Estimate, Relation, Schema
from handraise.guards.sql.reading import Reading
from handraise.guards.sql.verdict import Verdict, judge, message, planned_columns, reasons, unnamed_tables

pytestmark = pytest.mark.shows("U4")

EMAIL = ("people.email", ("contact",))
HARMLESS = Verdict(frozenset({"read"}), 1, (), (), 10, 1000)
PEOPLE = Relation(("main", "people"), ("id", "Email"))
PART = Relation(("main", "people_24"), ("id", "Email"), part_of=(("main", "people"),))
SCHEMA = Schema((PEOPLE, PART))
CATALOGUE = Catalogue({"people": {"email": ["contact"]}})


@pytest.mark.parametrize(
    ("change", "asks"),
    [
        ({}, False),
        ({"kinds": frozenset({"write"})}, True),
        ({"kinds": frozenset({"read", "definition"}), "statements": 2}, True),
        ({"kinds": frozenset({"outside"})}, True),
        ({"columns": (EMAIL,)}, True),
        ({"functions": ("leak",)}, True),
        ({"statements": 2}, True),
        ({"rows": 1000}, False),
        ({"rows": 1001}, True),
        ({"rows": None}, False),
    ],
)
def test_each_reason_alone_makes_a_question(change: dict[str, Any], asks: bool) -> None:
    assert replace(HARMLESS, **change).asks is asks


@pytest.mark.parametrize(
    ("before", "after", "covered"),
    [
        ({}, {}, True),
        ({"columns": (EMAIL,)}, {}, True),
        ({}, {"columns": (EMAIL,)}, False),
        ({"columns": (EMAIL,)}, {"columns": (("people.email", ("other",)),)}, False),
        ({"kinds": frozenset({"read", "write"})}, {}, True),
        ({}, {"kinds": frozenset({"write"})}, False),
        ({"functions": ("leak",)}, {}, True),
        ({}, {"functions": ("leak",)}, False),
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
    assert replace(HARMLESS, **before).covers(replace(HARMLESS, **after)) is covered


def test_a_verdict_has_what_the_text_says_and_what_the_plan_says() -> None:
    reading = Reading(("read", "write"), (EMAIL,), frozenset({PEOPLE}), ("leak",))
    verdict = judge(reading, Estimate(7), 1000, (("a.b", ()),))
    assert verdict == Verdict(frozenset({"read", "write"}), 2, (("a.b", ()), EMAIL), ("leak",), 7, 1000)
    assert judge(reading, None, 5).rows is None


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
        assert unnamed_tables(Reading(("read",), (), frozenset({known}), ()), estimate, SCHEMA) == unnamed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"rows": 1}, ["It goes through about 1 row; you are asked above 1,000."]),
        ({"rows": 2345678}, ["It goes through about 2,345,678 rows; you are asked above 1,000."]),
        ({"rows": None}, ["What it costs cannot be estimated before it runs."]),
        (
            {"statements": 2, "rows": None},
            ["It has 2 statements.", "What it costs cannot be estimated before it runs."],
        ),
        (
            {"statements": 3, "kinds": frozenset({"outside", "read", "write", "definition"}), "rows": None},
            [
                "It has 3 statements.",
                "It changes data.",
                "It changes tables, views or rights.",
                "It reaches files, other databases or settings.",
                "What it costs cannot be estimated before it runs.",
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
                "It uses what may read files, the network or other tables: leak, a⟨U+202E⟩b.",
                "What it costs cannot be estimated before it runs.",
            ],
        ),
    ],
)
def test_reasons_are_sentences_with_names_and_numbers(change: dict[str, Any], told: list[str]) -> None:
    assert [*reasons(replace(HARMLESS, **change))] == told


@pytest.mark.parametrize(("many", "more"), [(12, "c11."), (13, "c11 and 1 more."), (40, "c11 and 28 more.")])
def test_of_many_columns_the_first_are_named_and_the_others_counted(many: int, more: str) -> None:
    columns = tuple((f"t.c{at}", ()) for at in range(many))
    told = next(reasons(replace(HARMLESS, columns=columns)))
    assert told.endswith(f"t.c10, t.{more}")


def test_long_names_are_cut() -> None:
    wide = replace(HARMLESS, columns=(("y" * 200, ()),), functions=("x" * 200,))
    told = "\n".join(reasons(wide))
    assert "y" * 40 in told
    assert "y" * 81 not in told
    assert "x" * 40 in told
    assert "x" * 61 not in told


def test_the_person_reads_the_reasons_the_statement_and_what_a_no_does() -> None:
    assert message(HARMLESS, "SELECT\n1\u202e", "It writes a file.") == (
        "Run this SQL?\n\n- It writes a file.\n- It goes through about 10 rows; you are asked above 1,000.\n\n"
        "The statement (9 characters):\nSELECT\n1⟨U+202E⟩\n\n"
        "If you decline: It does not run, and the model is told that you said no."
    )
    assert message(HARMLESS, "SELECT 1").startswith("Run this SQL?\n\n- It goes through about ")


def test_a_long_statement_is_cut_and_its_length_told() -> None:
    told = message(HARMLESS, "y" * 1234)
    assert "The statement (1,234 characters):\nyyy" in told
    assert "y" * 901 not in told
    assert "y" * 400 in told
