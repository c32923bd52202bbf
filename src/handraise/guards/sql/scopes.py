"""The queries of a statement, one inside the other, and which tables a name may mean in each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from handraise.guards.sql.schema import Relation, Schema, fold

_OWNERS: Final = (exp.Select, exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Copy, exp.Create)
_DERIVED: Final = (exp.Subquery, exp.Values, exp.Unnest, exp.Lateral)
_AS_IT_IS: Final[Mapping[str, list[str]]] = MappingProxyType({})


class UnknownTable(Exception):
    """A statement names what is no table or view of the engine's."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A table in a query. `renamed` has the columns that are called something else there; several may share a name."""

    relation: Relation
    renamed: Mapping[str, list[str]]

    def meant(self, name: str) -> Iterator[str]:
        """The columns that a name means: by its new name, and by its own in case that still works."""
        yield from self.renamed.get(name, ())
        if name in self.relation.folded:
            yield name


@dataclass(slots=True)
class Scope:
    """One query or change. What is no table of the engine's (a subquery, say) is there with nothing."""

    tables: dict[str, list[Bound]] = field(default_factory=dict)
    outer: Scope | None = None

    def chain(self) -> Iterator[Scope]:
        """This one, then those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def bounds(self) -> Iterator[Bound]:
        """All tables of it."""
        for found in self.tables.values():
            yield from found


class Scopes:
    """The scopes of one statement."""

    def __init__(self, statement: exp.Expr, nodes: Sequence[exp.Expr], schema: Schema) -> None:
        self._statement = statement
        self._schema = schema
        self._by_owner: dict[int, Scope] = {}
        self._named = {fold(node.alias) for node in nodes if isinstance(node, exp.CTE)}
        self.has_named_joins = False
        """Whether a join in parentheses has a name: its columns are then those of all tables in it."""

    def __iter__(self) -> Iterator[Scope]:
        return iter(self._by_owner.values())

    def of(self, node: exp.Expr) -> Scope:
        """The innermost one that a node is in."""
        owner = node.parent
        while owner is not None and not isinstance(owner, _OWNERS):
            owner = owner.parent
        owner = owner or self._statement
        if (found := self._by_owner.get(id(owner))) is None:
            outer = self.of(owner) if owner is not self._statement and owner.parent else None
            found = self._by_owner[id(owner)] = Scope(outer=outer)
        return found

    def take(self, node: exp.Expr, *, new_tables: bool) -> list[Relation]:
        """Enter what can be selected from. Raises `UnknownTable`."""
        if isinstance(node, exp.Table):
            return self._take_table(node, new_tables)
        if isinstance(node, _DERIVED) and node.alias:
            if isinstance(node, exp.Subquery) and isinstance(node.unnest(), exp.Table):
                self.has_named_joins = True
            self.of(node).tables.setdefault(fold(node.alias), [])
        return []

    def _take_table(self, node: exp.Table, new_tables: bool) -> list[Relation]:
        called = fold(node.alias_or_name)
        if isinstance(node.this, exp.Func) or node.args.get("rows_from"):
            self.of(node).tables.setdefault(called, [])  # functions are looked at apart
            return []
        if not isinstance(node.this, exp.Identifier):
            raise UnknownTable("a table in a way that leaves its name open")
        path = tuple(part.name for part in node.parts)
        relations = self._schema.named(path)
        if not relations and not new_tables and not (len(path) == 1 and fold(path[0]) in self._named):
            raise UnknownTable(".".join(path))
        bound = [Bound(each, _renamed(each, node.alias_column_names)) for each in relations]
        self.of(node).tables.setdefault(called, []).extend(bound)
        return relations


def _renamed(relation: Relation, names: list[str]) -> Mapping[str, list[str]]:
    if not names:
        return _AS_IT_IS
    renamed: dict[str, list[str]] = {}
    for new, old in zip(names, relation.columns, strict=False):
        renamed.setdefault(fold(new), []).append(fold(old))
    return renamed
