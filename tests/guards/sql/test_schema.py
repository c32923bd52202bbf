"""Which tables a name may mean: more than an engine would take it for, never less."""

from __future__ import annotations

import pytest

from handraise.guards.sql import Catalogue, Relation, Schema
from handraise.guards.sql.schema import NestedField, exact, fold, fold_path, nested_fields

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


PATH = ("main", "visits")


@pytest.mark.parametrize(
    ("dialect", "written", "names"),
    [
        ("duckdb", "VARCHAR", []),
        ("duckdb", "DECIMAL(3,1)", []),
        ("duckdb", "ENUM('email', 'phone')", []),
        ("duckdb", 'STRUCT(email VARCHAR, "a (b" INTEGER)', ["email", "a (b"]),
        ("duckdb", "STRUCT(x STRUCT(email VARCHAR)[], y MAP(VARCHAR, STRUCT(phone INTEGER)))", ["x", "y"]),
        ("duckdb", "UNION(num INTEGER, email VARCHAR)[3]", ["num", "email"]),
        ("trino", "timestamp(3) with time zone", []),
        ("trino", "array(row(email varchar(10), age integer))", ["email", "age"]),
        ("trino", "a type (that nobody knows", ["a", "type", "that", "nobody", "knows"]),
    ],
)
def test_names_inside_a_type_are_found(dialect: str, written: str, names: list[str]) -> None:
    found = [field.name for field in nested_fields(PATH, [("guest", written)], dialect)]
    assert found[: len(names)] == names
    assert ("phone" in found) == ("phone INTEGER" in written)


GUEST = Relation(PATH, ("id", "guest"), fields=(NestedField("Guest", "Email", ("types", "contact")),))


@pytest.mark.parametrize("table", ["people", "types.contact", "*"])
def test_a_column_with_a_personal_name_inside_is_personal(table: str) -> None:
    assert Catalogue({table: {"email": ["contact"]}}).personal(GUEST)["guest"] == ("contact",)
    assert "guest" not in Catalogue({table: {"phone": ["contact"]}}).personal(GUEST)


def test_a_column_has_the_tags_of_all_that_is_inside_each_once() -> None:
    both = Relation(
        PATH,
        ("guest",),
        fields=(*GUEST.fields, NestedField("guest", "phone", ()), NestedField("guest", "fax", ())),
    )
    listed = Catalogue({"people": {"email": ["contact"], "phone": ["home", "contact"]}})
    assert listed.personal(both) == {"guest": ("contact", "home")}
    assert Catalogue({"people": {"email": ["a"], "phone": ["b"]}}).personal(both) == {"guest": ("a", "b")}


def test_what_is_listed_for_the_column_itself_goes_first() -> None:
    listed = Catalogue({"visits": {"guest": ["identity"]}, "people": {"email": ["contact"]}})
    assert listed.personal(GUEST) == {"guest": ("identity",)}


def test_a_function_is_asked_about_what_is_inside_by_its_type() -> None:
    inside = Catalogue(
        lookup=lambda table, name: ["x"] if (table, name) == ("types.contact", "Email") else []
    )
    assert inside.personal(GUEST) == {"guest": ("x",)}
