"""What a column has inside: its name is not listed, and what is personal is in it all the same."""

from __future__ import annotations

import pytest

from handraise.guards.sql import Catalogue, Relation
from handraise.guards.sql.fields import fields_of
from handraise.guards.sql.schema import Field

pytestmark = pytest.mark.shows("U4")

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
    found = [field.name for field in fields_of(PATH, [("guest", written)], dialect)]
    assert found[: len(names)] == names
    assert ("phone" in found) == ("phone INTEGER" in written)


GUEST = Relation(PATH, ("id", "guest"), fields=(Field("Guest", "Email", ("types", "contact")),))


@pytest.mark.parametrize("table", ["people", "types.contact", "*"])
def test_a_column_with_a_personal_name_inside_is_personal(table: str) -> None:
    assert Catalogue({table: {"email": ["contact"]}}).personal(GUEST)["guest"] == ("contact",)
    assert "guest" not in Catalogue({table: {"phone": ["contact"]}}).personal(GUEST)


def test_a_column_has_the_tags_of_all_that_is_inside_each_once() -> None:
    both = Relation(
        PATH, ("guest",), fields=(*GUEST.fields, Field("guest", "phone", ()), Field("guest", "fax", ()))
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
