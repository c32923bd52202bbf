"""An engine's tables, views, functions and fields inside columns; and the cost of a statement."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Protocol

from sqlglot import exp
from sqlglot.errors import SqlglotError

FieldPath = tuple[str, ...]


def fold(name: str) -> str:
    """One spelling for all names that an engine might treat as equal: rather too many than too few."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFKC", name).casefold()


def exact(name: str) -> str:
    """One spelling for names that every engine treats as equal: rather too few than too many."""
    return name.lower() if name.isascii() else name


def fold_path(path: Iterable[str]) -> FieldPath:
    """A qualified name in that spelling."""
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
        """Its columns, in one spelling."""
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
        """The user-defined functions, in one spelling."""
        return frozenset(map(fold, self.functions))

    def named(self, path: FieldPath) -> list[Relation]:
        """Every relation that a name may mean; without a schema before it, those of all schemas."""
        wanted = fold_path(path)
        same = self._by_name.get(wanted[-1], ())
        return [each for each in same if fold_path(each.path)[-len(wanted) :] == wanted]


class CannotEstimate(Exception):
    """The engine gives no estimate or no schema. The message tells the model why."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The engine's estimate of one statement.

    - `rows`: the most rows that any step of its plan goes through.
    - `tables`: the tables in its plan, and `columns` those that the plan says are read, where it says so.
    """

    rows: int
    tables: frozenset[FieldPath] = frozenset()
    columns: frozenset[tuple[FieldPath, str]] = frozenset()


class Engine(Protocol):
    """An engine that statements run on."""

    @property
    def dialect(self) -> str:
        """The parser's name for its SQL dialect."""
        ...

    async def schema(self) -> Schema:
        """Read its objects now. Raises `CannotEstimate`."""
        ...

    async def estimate(self, statement: str) -> Estimate:
        """Estimate the cost of exactly one statement; it is not run. Raises `CannotEstimate`."""
        ...


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
