"""Which tables a name may mean: more than an engine would take it for, never less."""

from __future__ import annotations

import pytest

from handraise.guards.sql import Relation, Schema
from handraise.guards.sql.schema import exact, fold, fold_path

pytestmark = pytest.mark.shows("U4")

OURS = Relation(("db", "Crm", "People"), ("id",))
THEIRS = Relation(("db", "hr", "people"), ("id",))
VIEW = Relation(("db", "main", "leads"), ("id",), "SELECT id FROM people")
SCHEMA = Schema((OURS, THEIRS, VIEW), frozenset({"Leak", "Größer"}))


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("EMAIL", "email"),
        ("ｅmail", "email"),
        ("GRÖSSE", "grösse"),
        ("größe", "grösse"),
        ("İ", "i̇"),
        ("ﬁ", "fi"),
    ],
)
def test_names_that_any_engine_takes_for_the_same_are_folded_together(name: str, same: str) -> None:
    assert fold(name) == fold(same) == same


@pytest.mark.parametrize(
    ("name", "spelling"), [("EMAIL", "email"), ("Größe", "Größe"), ("ｅmail", "ｅmail"), ("email", "email")]
)
def test_names_that_every_engine_takes_for_the_same_are_few(name: str, spelling: str) -> None:
    assert exact(name) == spelling


def test_a_qualified_name_is_folded_part_by_part() -> None:
    assert fold_path(["DB", "Größe"]) == ("db", "grösse")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (("PEOPLE",), [OURS, THEIRS]),
        (("CRM", "people"), [OURS]),
        (("DB", "hr", "People"), [THEIRS]),
        (("other", "hr", "people"), []),
        (("hr", "leads"), []),
        (("nowhere",), []),
        (("more", "db", "hr", "people"), []),
    ],
)
def test_a_name_means_all_that_end_like_it(path: tuple[str, ...], found: list[Relation]) -> None:
    assert SCHEMA.named(path) == found


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (("people",), "people"),
        (("main", "people"), "people"),
        (("db", "public", "people"), "people"),
        (("db", "crm", "people"), "crm.people"),
        (("crm", "people"), "crm.people"),
    ],
)
def test_people_read_a_table_without_its_database_and_its_usual_schema(
    path: tuple[str, ...], shown: str
) -> None:
    assert Relation(path, ()).name == shown


def test_functions_and_columns_are_known_in_one_spelling() -> None:
    assert SCHEMA.folded_functions == {"leak", "grösser"}
    assert Relation(("t",), ("ID", "Größe")).folded == {"id", "grösse"}
