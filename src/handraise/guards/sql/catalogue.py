"""The columns with personal data: from a TOML or CSV file, a mapping, or your own function."""

from __future__ import annotations

import csv
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from handraise.errors import SetupError
from handraise.guards.sql.schema import FieldPath, NestedField, Relation, fold, fold_path

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
        for field in relation.fields:
            if (kinds_inside := self._inside(field)) is not None:
                column = fold(field.column)
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

    def _inside(self, field: NestedField) -> tuple[str, ...] | None:
        """The tags of the fields inside a column; None when none is personal."""
        name = fold(field.name)
        for _, columns in self._tags:
            if name in columns:
                return columns[name]
        said = () if self._lookup is None else tuple(self._lookup(".".join(field.of), field.name))
        return said or None


def _with_computed(relation: Relation, found: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Add columns that are computed from personal ones, directly or through each other."""
    for _ in relation.computed:
        for column, expression in relation.computed:
            text = fold(expression.replace('""', '"'))
            for kinds in [kinds for name, kinds in found.items() if name in text]:
                found.setdefault(fold(column), kinds)
    return found
