"""Where it is written which columns are personal: a mapping, a TOML or CSV file, or a function."""

from __future__ import annotations

from pathlib import Path

import pytest

from handraise.errors import SetupError
from handraise.guards.sql import Catalogue, Relation

pytestmark = pytest.mark.shows("U4")

PEOPLE = Relation(("db", "crm", "people"), ("id", "Email", "phone"))
LOUD = Relation(("DB", "Crm", "PEOPLE"), ("id", "EMAIL"))
EMAIL = {"email": ("contact", "identity")}


def test_a_mapping_names_tables_with_or_without_their_schema() -> None:
    for table in ("people", "PEOPLE", "crm.people", "db.crm.people", "*"):
        assert Catalogue({table: {"email": ["contact", "identity"]}}).personal(PEOPLE) == EMAIL
        assert Catalogue({table: {"email": ["contact", "identity"]}}).personal(LOUD) == EMAIL
    for table in ("person", "hr.people", "other.crm.people"):
        assert Catalogue({table: {"email": ["contact"]}}).personal(PEOPLE) == {}


def test_a_toml_file(tmp_path: Path) -> None:
    file = tmp_path / "personal.toml"
    file.write_text('["crm.people"]\nemail = ["contact", "identity"]\n', encoding="utf-8")
    assert Catalogue.from_toml(file).personal(PEOPLE) == EMAIL


def test_a_csv_file(tmp_path: Path) -> None:
    file = tmp_path / "personal.csv"
    file.write_text(
        "column,table,tags,who\nemail,crm.people,contact; ; identity,ada\nphone,crm.people,,ada\n"
        "id,orders,x,ada\nfax,crm.people\n",
        encoding="utf-8",
    )
    assert Catalogue.from_csv(file).personal(PEOPLE) == {**EMAIL, "phone": (), "fax": ()}


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.toml", "people = 3", r"\[people\] needs lines like"),
        ("a.toml", '[people]\nemail = "contact"', r"\[people\] needs lines like"),
        ("a.toml", '[people]\nname = ["identity"]\nemail = "contact"', r"\[people\] needs lines like"),
        ("a.toml", '[people]\nemail = ["contact", 3]', r"\[people\] needs lines like"),
        ("a.toml", "[people", "cannot be read"),
        ("a.toml", b"[people]\n\xff", "cannot be read"),
        ("a.csv", b"table,column,tags\n\xff", "cannot be read"),
        ("a.csv", f'table,column,tags\npeople,email,"{"x" * 140_000}"', "cannot be read"),
        ("a.csv", "table,column\npeople,email\n", "has to name table, column and tags"),
        ("a.csv", "column,tags\nemail,contact\n", "has to name table, column and tags"),
        ("a.csv", "table,tags\npeople,contact\n", "has to name table, column and tags"),
        ("a.csv", "", "has to name table, column and tags"),
        ("a.csv", "table,column,tags\npeople\n", "line 2 names no column"),
        ("a.csv", "table,column,tags\n,email,x\n", "line 2 names no table"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, name: str, text: str | bytes, told: str) -> None:
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    read = Catalogue.from_toml if name.endswith("toml") else Catalogue.from_csv
    with pytest.raises(SetupError, match=told):
        read(file)
    with pytest.raises(SetupError, match="cannot be read"):
        read(tmp_path / "nowhere")


def test_a_function_is_asked_about_every_column() -> None:
    asked: list[tuple[str, str]] = []

    def lookup(table: str, column: str) -> list[str]:
        asked.append((table, column))
        return ["contact"] if column == "Email" else []

    assert Catalogue(lookup=lookup).personal(PEOPLE) == {"email": ("contact",)}
    assert asked == [("db.crm.people", "id"), ("db.crm.people", "Email"), ("db.crm.people", "phone")]


def test_a_function_adds_to_what_is_listed() -> None:
    both = Catalogue({"people": {"phone": []}}, lookup=lambda table, column: ["x"] if column == "id" else [])
    assert both.personal(PEOPLE) == {"phone": (), "id": ("x",)}


def test_a_partition_has_what_its_table_has() -> None:
    part = Relation(("crm", "people_2024"), ("id", "email"), part_of=(("crm", "people"),))
    assert Catalogue({"crm.people": {"email": []}}).personal(part) == {"email": ()}


@pytest.mark.parametrize(
    "listed",
    [
        Catalogue({"crm.people_2024": {"email": ["x"], "ssn": []}}),
        Catalogue(
            lookup=lambda table, column: ["x"] if (table, column) == ("crm.people_2024", "Email") else []
        ),
    ],
    ids=["listed", "asked"],
)
def test_a_table_has_of_its_columns_what_a_partition_of_it_has(listed: Catalogue) -> None:
    """Its rows are those of its partitions; columns that only a child has are not read by it."""
    whole = Relation(
        ("crm", "people"), ("id", "Email"), parts=(("crm", "people_2023"), ("crm", "people_2024"))
    )
    assert listed.personal(whole) == {"email": ("x",)}


def test_what_is_said_about_the_table_itself_goes_before_what_is_said_about_its_parts() -> None:
    whole = Relation(("crm", "people"), ("id", "email"), parts=(("crm", "people_2024"),))
    both = Catalogue({"people": {"email": ["own"]}, "people_2024": {"email": ["x"]}})
    assert both.personal(whole) == {"email": ("own",)}


def test_what_is_computed_from_personal_columns_is_personal_whatever_the_order() -> None:
    made = (("F", "LOWER(B)"), ("c", "lower(b)"), ("b", 'concat("A ""1""")'), ("d", "upper(e)"))
    relation = Relation(("main", "t"), ('a "1"', "b", "c", "d", "e", "F"), computed=made)
    listed = Catalogue({"t": {'A "1"': ["x"], "c": ["own"]}})
    assert listed.personal(relation) == {'a "1"': ("x",), "b": ("x",), "c": ("own",), "f": ("x",)}
