"""An engine's tables, views and functions, and the catalogue of columns with personal data."""

from __future__ import annotations

import csv
import os
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from handraise.errors import SetupError

FieldPath = tuple[str, ...]


def fold(name: str) -> str:
    """One spelling for names that some engine may treat as equal. In doubt, names are equal."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFKC", name).casefold()


def exact(name: str) -> str:
    """One spelling for names that every engine treats as equal. In doubt, names differ."""
    return name.lower() if name.isascii() else name


def fold_path(path: Iterable[str]) -> FieldPath:
    """A qualified name, folded."""
    return tuple(fold(part) for part in path)


@dataclass(frozen=True, slots=True)
class NestedField:
    """The fields inside a column, at any depth, if its type is a composite one, a struct or a row."""

    column: str
    name: str
    of: FieldPath
    """The type that has it; the table itself where types have no names."""


@dataclass(frozen=True)
class Relation:
    """A table, or a view with its definition."""

    path: FieldPath
    columns: tuple[str, ...]
    definition: str | None = None
    part_of: tuple[FieldPath, ...] = ()
    """The tables that it is a partition or a child of. Their personal columns are personal here."""
    parts: tuple[FieldPath, ...] = ()
    """Its own partitions and children; it contains their rows. Their personal columns are personal here."""
    fields: tuple[NestedField, ...] = ()
    computed: tuple[tuple[str, str], ...] = ()
    """Generated columns with their expressions. A column that is computed from a personal one is personal."""

    def __hash__(self) -> int:
        return hash(self.path)  # not of its columns, too, of which a table may have many

    @property
    def name(self) -> str:
        """The name for people, without the database."""
        return (
            ".".join(self.path[-2:]) if len(self.path) > 1 and self.path[-2] not in _USUAL else self.path[-1]
        )

    @cached_property
    def folded(self) -> frozenset[str]:
        """Its columns, folded."""
        return frozenset(map(fold, self.columns))


_USUAL = frozenset({"main", "public"})


@dataclass(frozen=True)
class Schema:
    """The objects of one engine. `functions` are those that somebody made: nobody knows what they do."""

    relations: tuple[Relation, ...] = ()
    functions: frozenset[str] = field(default=frozenset())

    @cached_property
    def _by_name(self) -> dict[str, list[Relation]]:
        found: dict[str, list[Relation]] = {}
        for relation in self.relations:
            found.setdefault(fold(relation.path[-1]), []).append(relation)
        return found

    @cached_property
    def folded_functions(self) -> frozenset[str]:
        """The user-defined functions, folded."""
        return frozenset(map(fold, self.functions))

    def named(self, path: FieldPath) -> list[Relation]:
        """Every relation that a name may mean; without a schema before it, those of all schemas."""
        wanted = fold_path(path)
        same = self._by_name.get(wanted[-1], ())
        return [each for each in same if fold_path(each.path)[-len(wanted) :] == wanted]


def nested_fields(
    path: FieldPath, columns: Iterable[tuple[str, str]], dialect: str
) -> tuple[NestedField, ...]:
    """All fields inside the columns of a table, from the types of the columns."""
    return tuple(
        NestedField(column, name, path) for column, written in columns for name in _names(written, dialect)
    )


@lru_cache(maxsize=1000)
def _names(written: str, dialect: str) -> tuple[str, ...]:
    """The names in a type; every word, if the type cannot be parsed."""
    if "(" not in written:
        return ()
    try:
        parsed = exp.DataType.build(written, dialect=dialect)
    except SqlglotError:
        return tuple(re.findall(r"\w+", written))
    return tuple(each.name for each in parsed.find_all(exp.ColumnDef))


Tags = Mapping[str, Mapping[str, Iterable[str]]]
"""Tags by table, then column: `{"people": {"email": ["contact"]}}`. A table may be qualified: `crm.people`."""
Lookup = Callable[[str, str], Iterable[str]]
"""Tags of a column, from the qualified name of its table and its own."""


class Catalogue:
    """Says which columns are personal, and of what kind."""

    def __init__(self, tags: Tags | None = None, *, lookup: Lookup | None = None) -> None:
        self._lookup = lookup
        self._tags = [
            (fold_path(table.split(".")), {fold(name): tuple(kinds) for name, kinds in columns.items()})
            for table, columns in (tags or {}).items()
        ]

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Catalogue:
        """A table for each table: `[people]`, then `email = ["contact"]`."""
        try:
            document: dict[str, Any] = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SetupError(f"{path}: the catalogue cannot be read: {error}") from None
        for table, columns in document.items():
            well = isinstance(columns, dict) and all(
                isinstance(kinds, list) and all(isinstance(kind, str) for kind in kinds)
                for kinds in columns.values()
            )
            if not well:
                raise SetupError(
                    f'{path}: [{table}] needs lines like email = ["contact"]; quote a name with a dot'
                )
        return cls(document)

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str]) -> Catalogue:
        """Lines of table, column and tags; the tags are separated by semicolons."""
        tags: dict[str, dict[str, list[str]]] = {}
        try:
            with Path(path).open(encoding="utf-8", newline="") as lines:
                reader = csv.DictReader(lines)
                if not {"table", "column", "tags"} <= set(reader.fieldnames or ()):
                    raise SetupError(f"{path}: the first line has to name table, column and tags")
                for row in reader:
                    for name in ("table", "column"):
                        if not row[name]:
                            raise SetupError(f"{path}: line {reader.line_num} names no {name}")
                    kinds = [kind.strip() for kind in (row["tags"] or "").split(";") if kind.strip()]
                    tags.setdefault(row["table"], {})[row["column"]] = kinds
        except (OSError, ValueError, csv.Error) as error:
            raise SetupError(f"{path}: the catalogue cannot be read: {error}") from None
        return cls(tags)

    def personal(self, relation: Relation) -> dict[str, tuple[str, ...]]:
        """The personal columns of a table by name, each with its tags.

        Listed columns count even if the engine did not report them. So does a column that is computed from a personal
        column, or that contains a field with the name of one, of any table.
        """
        found: dict[str, tuple[str, ...]] = {}
        for path in relation.parts:
            below = self._listed(path, relation.columns)
            found.update({name: kinds for name, kinds in below.items() if name in relation.folded})
        for path in (*relation.part_of, relation.path):
            found.update(self._listed(path, relation.columns))
        inside: dict[str, tuple[str, ...]] = {}
        for nested in relation.fields:
            if (kinds_inside := self._inside(nested)) is not None:
                column = fold(nested.column)
                inside[column] = tuple(dict.fromkeys((*inside.get(column, ()), *kinds_inside)))
        return _with_computed(relation, inside | found)

    def _listed(self, path: FieldPath, columns: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """The listed columns of a table; a lookup function is called for these columns."""
        own = fold_path(path)
        found: dict[str, tuple[str, ...]] = {}
        for table, listed in self._tags:
            if own[-len(table) :] == table or table == ("*",):
                found.update(listed)
        if self._lookup is not None:
            for column in columns:
                if kinds := tuple(self._lookup(".".join(path), column)):
                    found[fold(column)] = kinds
        return found

    def _inside(self, nested: NestedField) -> tuple[str, ...] | None:
        """The tags of the fields inside a column; None when none is personal."""
        name = fold(nested.name)
        for _, columns in self._tags:
            if name in columns:
                return columns[name]
        said = () if self._lookup is None else tuple(self._lookup(".".join(nested.of), nested.name))
        return said or None


def _with_computed(relation: Relation, found: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Add columns that are computed from personal ones, directly or through each other."""
    for _ in relation.computed:
        for column, expression in relation.computed:
            text = fold(expression.replace('""', '"'))
            for kinds in [kinds for name, kinds in found.items() if name in text]:
                found.setdefault(fold(column), kinds)
    return found
