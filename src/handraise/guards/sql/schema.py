"""Which tables, views and functions an engine has, and which of them a name in a statement may mean."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

Path = tuple[str, ...]


def fold(name: str) -> str:
    """One spelling for all that an engine could take for the same name: more than it does, never less."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFKC", name).casefold()


def exact(name: str) -> str:
    """One spelling for what every engine takes for the same name: less than one does, never more."""
    return name.lower() if name.isascii() else name


def fold_path(path: Iterable[str]) -> Path:
    """A qualified name in that spelling."""
    return tuple(fold(part) for part in path)


@dataclass(frozen=True, slots=True)
class Field:
    """What a column has inside, at any depth, when its type is a composite one, a struct or a row."""

    column: str
    name: str
    of: Path
    """The type that has it; the table itself where types have no names."""


@dataclass(frozen=True)
class Relation:
    """A table, or a view with its definition."""

    path: Path
    columns: tuple[str, ...]
    definition: str | None = None
    part_of: tuple[Path, ...] = ()
    """The tables that it is a partition or a child of: what is personal there is personal here."""
    parts: tuple[Path, ...] = ()
    """Its own partitions and children, whose rows it has: what is personal there is personal here, of its columns."""
    fields: tuple[Field, ...] = ()
    computed: tuple[tuple[str, str], ...] = ()
    """The columns that the engine computes, each with its expression: from what is personal comes what is."""

    def __hash__(self) -> int:
        return hash(self.path)  # not of its columns, too, of which a table may have many

    @property
    def name(self) -> str:
        """As people read it: without the database."""
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
    """What one engine has. `functions` are those that somebody made: nobody knows what they do."""

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
        """The functions that somebody made, in one spelling."""
        return frozenset(map(fold, self.functions))

    def named(self, path: Path) -> list[Relation]:
        """Every relation that a name may mean; without a schema before it, those of all schemas."""
        wanted = fold_path(path)
        same = self._by_name.get(wanted[-1], ())
        return [each for each in same if fold_path(each.path)[-len(wanted) :] == wanted]
