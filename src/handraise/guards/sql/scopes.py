"""The queries of a statement, one inside the other, and which tables a name may mean in each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from handraise.guards.sql.schema import Relation, Schema, exact, fold

_OWNERS: Final = (exp.Select, exp.Insert, exp.Update, exp.Delete)
"""Nodes with tables of their own within a statement; the statement itself always has some."""
SOURCES: Final = (exp.Table, exp.Subquery, exp.Values, exp.Unnest, exp.Lateral)
"""Nodes that can be selected from."""
_AS_IT_IS: Final[Mapping[str, list[str]]] = MappingProxyType({})


class UnknownTable(Exception):
    """A statement names something that is not a table or view of the engine."""


@dataclass(frozen=True, slots=True, eq=False)
class TableInQuery:
    """A table in a query. `renamed` has the columns that are called something else there; several may share a name."""

    relation: Relation
    renamed: Mapping[str, list[str]]

    def meant(self, name: str) -> list[str]:
        """The columns that a name may mean: by their new name or their own."""
        own = [name] if name in self.relation.folded else []
        return [*self.renamed[name], *own] if name in self.renamed else own

    def left_out(self, names: frozenset[str]) -> frozenset[str]:
        """The columns that a star leaves out with these names. One of another column may leave out that one only."""
        if not names or self.renamed:
            return frozenset()
        return self.relation.folded - {
            fold(each) for each in self.relation.columns if exact(each) not in names
        }


@dataclass(slots=True)
class QueryScope:
    """One query or change. Anything but a table of the engine (a subquery, say) has an empty entry."""

    tables: dict[str, dict[TableInQuery, None]] = field(default_factory=dict)
    bounds: dict[TableInQuery, None] = field(default_factory=dict)
    """All tables, by any of their names."""
    outer: QueryScope | None = None

    def chain(self) -> Iterator[QueryScope]:
        """This one, then those around it."""
        scope: QueryScope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def enter(self, called: str, bounds: Iterable[TableInQuery] = ()) -> None:
        """Add what can be selected from."""
        found = dict.fromkeys(bounds)
        self.tables.setdefault(called, {}).update(found)
        self.bounds.update(found)


class QueryScopes:
    """The scopes of one statement. An outer node comes before the nodes inside it."""

    def __init__(self, nodes: Sequence[exp.Expr], schema: Schema) -> None:
        self._schema = schema
        self._named: set[str] = set()
        self._bounds: dict[tuple[Relation, tuple[str, ...]], TableInQuery] = {}
        outermost = QueryScope()
        self._inside = {id(nodes[0].parent): outermost, id(nodes[0]): outermost}
        self.has_named_joins = False
        """Whether a join in parentheses has a name: its columns are then those of all tables in it."""
        for node in nodes[1:]:
            around = self.of(node)
            if isinstance(node, _OWNERS):
                around = QueryScope(outer=around)
            elif isinstance(node, exp.CTE):
                self._named.add(fold(node.alias))
            self._inside[id(node)] = around

    @property
    def bounds(self) -> Iterable[TableInQuery]:
        """The tables of all, each once however often it is there with the same columns."""
        return self._bounds.values()

    def of(self, node: exp.Expr) -> QueryScope:
        """The innermost one that a node is in."""
        return self._inside[id(node.parent)]

    def take(self, node: exp.Expr, *, new_tables: bool) -> list[Relation]:
        """Enter one of `SOURCES`. Raises `UnknownTable`."""
        if isinstance(node, exp.Table):
            return self._take_table(node, new_tables)
        if node.alias:
            if isinstance(node, exp.Subquery) and isinstance(node.unnest(), exp.Table):
                self.has_named_joins = True
            self.of(node).enter(fold(node.alias))
        return []

    def _take_table(self, node: exp.Table, new_tables: bool) -> list[Relation]:
        called = fold(node.alias_or_name)
        if isinstance(node.this, exp.Func) or node.args.get("rows_from"):
            self.of(node).enter(called)  # functions are looked at apart
            return []
        if not isinstance(node.this, exp.Identifier):
            raise UnknownTable("a table in a way that leaves its name open")
        path = tuple(part.name for part in node.parts)
        relations = self._schema.named(path)
        if not relations and not new_tables and not (len(path) == 1 and fold(path[0]) in self._named):
            raise UnknownTable(".".join(path))
        names = tuple(node.alias_column_names)
        self.of(node).enter(called, [self._bound(each, names) for each in relations])
        return relations

    def _bound(self, relation: Relation, names: tuple[str, ...]) -> TableInQuery:
        if (relation, names) not in self._bounds:
            self._bounds[relation, names] = TableInQuery(relation, _renamed(relation, names))
        return self._bounds[relation, names]


def _renamed(relation: Relation, names: tuple[str, ...]) -> Mapping[str, list[str]]:
    if not names:
        return _AS_IT_IS
    renamed: dict[str, list[str]] = {}
    for new, old in zip(names, relation.columns, strict=False):
        renamed.setdefault(fold(new), []).append(fold(old))
    return renamed
