"""The columns that a statement reaches: by name, by a star, or by a whole row.

If unsure, more columns count, never fewer: an unknown name reaches everything. Of a view only the used columns count,
and those that the view itself uses to find its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
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
        """The columns that `* EXCEPT (…)` with these names certainly leaves out."""
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
        """Add a name that can be selected from, with its tables."""
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
        """The tables of all scopes, each once for each way in which its columns are named."""
        return self._bounds.values()

    def of(self, node: exp.Expr) -> QueryScope:
        """The innermost scope around a node."""
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


Reached = set[tuple[Relation, str]]
"""Tables, each with a column in one spelling."""
ColumnsOf = Callable[[Relation], Iterable[str]]
"""The columns of a table to look for, in one spelling."""
Define = Callable[[Relation], exp.Expr]

_BRINGS_ALL: Final = (exp.Columns, exp.Pivot, exp.PositionalColumn, exp.Summarize)
_REACHES: Final = (
    exp.Identifier, exp.Column, exp.Var, exp.Star, exp.Join, exp.Insert, exp.Copy, *_BRINGS_ALL,
)  # fmt: skip
_NO_COLUMN: Final = ""
"""A view is reached even if no column of it is used, because it looks for its rows."""
_OF_THE_SYSTEM: Final = frozenset({"rowid", "ctid", "tableoid", "xmin", "xmax", "cmin", "cmax"})
_WHOLE_NAMES: Final = (exp.Column, exp.Table)
"""Nodes whose identifiers form one name."""
_NEW_NAMES: Final[dict[type, tuple[str, ...]]] = {
    exp.Alias: ("alias",),
    exp.ColumnDef: ("this",),
    exp.Lambda: ("expressions",),
    exp.PropertyEQ: ("this",),
    exp.TableAlias: ("this", "columns"),
    exp.Window: ("this", "alias"),
}
"""Nodes in which an identifier names something new."""


class ViewColumns:
    """The columns that each column of each view reaches; computed once."""

    def __init__(self, schema: Schema, wanted: ColumnsOf, define: Define) -> None:
        self.schema = schema
        self.wanted = wanted
        self._define = define
        self._known: dict[Relation, tuple[dict[str | None, Reached], set[Relation]] | None] = {}

    def through(self, view: Relation, name: str) -> tuple[Reached, set[Relation]]:
        """The columns that one column of a view reaches, and the relations behind it."""
        if view not in self._known:
            self._known[view] = None
            try:
                inner = ColumnReach(self)
                inner.of([*self._define(view).walk()], is_view=True)
                self._known[view] = inner.by_column(view), inner.relations
            finally:
                if self._known[view] is None:
                    del self._known[view]
        if (known := self._known[view]) is None:
            raise UnknownTable(f"{view.name}, a view of itself")
        by_column, relations = known
        return by_column[None] | by_column.get(name, set()), relations


class ColumnReach:
    """The tables and columns that one statement reaches."""

    def __init__(self, views: ViewColumns) -> None:
        self._views = views
        self.relations: set[Relation] = set()
        """The tables and views, those behind views included."""
        self._by_place: dict[int | None, Reached] = {}
        self._whole: set[tuple[int | None, Relation, frozenset[str]]] = set()
        """Relations that have been added as a whole; a statement may name one thousands of times."""
        self._labels: set[str] | None = None
        self._has_places = False

    def of(self, nodes: Sequence[exp.Expr], *, new_tables: bool = False, is_view: bool = False) -> Reached:
        """The wanted columns that a statement reaches. `new_tables`: it may name tables that it makes itself."""
        self._nodes = nodes
        self._statement = nodes[0]
        self._has_places = is_view
        self._scopes = QueryScopes(nodes, self._views.schema)
        for node in nodes:
            if isinstance(node, SOURCES):
                for relation in self._scopes.take(node, new_tables=new_tables):
                    self.relations.add(relation)
                    self._add(node, relation, _NO_COLUMN)
        for node in nodes:
            if isinstance(node, _REACHES):
                self._take(node)
        if self._scopes.has_named_joins:
            self._take_everything(self._statement)
        return set().union(*self._by_place.values())

    def by_column(self, view: Relation) -> dict[str | None, Reached]:
        """The columns that each column of a view reaches; the columns that all of them reach are under None."""
        root = self._statement
        plain = isinstance(root, exp.Select) and len(root.expressions) == len(view.columns)
        if not plain or any(each.is_star for each in root.expressions):
            return {None: set().union(*self._by_place.values())}
        found: dict[str | None, Reached] = {None: self._by_place.get(None, set())}
        for place, name in enumerate(view.columns):
            found[fold(name)] = self._by_place.get(place, set())
        return found

    def _take(self, node: exp.Expr) -> None:
        match node:
            case exp.Identifier():
                if not isinstance(node.parent, _WHOLE_NAMES) and not _is_new(node):
                    self._take_name(node, fold(node.name))
            case exp.Column(this=exp.Star()):
                self._take_row(node, fold(node.table), _excepted(node.this))
            case exp.Column():
                self._take_column(node)
            case exp.Var():
                self._take_if_column(node, fold(node.name))
            case exp.Star() if not isinstance(node.parent, exp.Column | exp.Count):
                self._take_all(node, except_=_excepted(node))
            case exp.Join() if node.args.get("method") == "NATURAL":
                self._take_all(node)
            case exp.Insert() if not isinstance(node.this, exp.Schema):
                self._take_all(node)
            case exp.Copy(this=exp.Table()):
                self._take_all(node.this)
            case _ if isinstance(node, _BRINGS_ALL):
                self._take_everything(node)

    def _take_column(self, node: exp.Column) -> None:
        """Take a column, which may have a table and a schema before it and fields behind it."""
        if isinstance(node.parent, exp.Star):
            return  # named to be left out
        parts = [fold(part.name) for part in node.parts]
        if len(parts) == 1:
            self._take_name(node, parts[0])
            return
        known = self._take_if_column(node, parts[0])
        for qualifier, name in pairwise(parts):
            for scope in self._scopes.of(node).chain():
                if qualifier in scope.tables:
                    known = True
                    for bound in scope.tables[qualifier]:
                        self._take_of(node, bound, name)
                    break
        if not known:
            for part in parts:
                self._take_name(node, part)

    def _take_of(self, node: exp.Expr, bound: TableInQuery, name: str) -> None:
        """Take a column of one table. An unknown name may be a function of the whole row (`p.to_json`)."""
        if names := self._meant(bound, name):
            for each in names:
                self._add(node, bound.relation, each)
        elif name not in _OF_THE_SYSTEM:
            self._add_all(node, bound.relation)

    def _take_name(self, node: exp.Expr, name: str) -> None:
        """Take a bare name: a column of the innermost query that has it, else of any query, or a whole row."""
        chain = [*self._scopes.of(node).chain()]
        at = self._take_if_column(node, name)
        if any(self._meant(bound, name) for bound in chain[0].bounds):
            return
        rows = [bound for scope in chain for bound in scope.tables.get(name, ())]
        for bound in rows:
            self._add_all(node, bound.relation)
        if at or rows or self._is_known(name):
            return
        for bound in self._scopes.bounds:
            for each in self._meant(bound, name):
                self._add(node, bound.relation, each)
                at = True
        if not at and isinstance(node, exp.Column):
            self._take_everything(node)

    def _take_if_column(self, node: exp.Expr, name: str) -> bool:
        """Take the column if a query around the node has a table with it."""
        for scope in self._scopes.of(node).chain():
            found = False
            for bound in scope.bounds:
                for each in self._meant(bound, name):
                    self._add(node, bound.relation, each)
                    found = True
            if found:
                return True
        return False

    def _take_row(self, node: exp.Expr, qualifier: str, except_: frozenset[str]) -> None:
        """Take all columns of the table with this name."""
        for scope in self._scopes.of(node).chain():
            if qualifier in scope.tables:
                for bound in scope.tables[qualifier]:
                    self._add_all(node, bound.relation, bound.left_out(except_))
                return
        if not self._take_if_column(node, qualifier):
            self._take_everything(node)

    def _take_all(self, node: exp.Expr, except_: frozenset[str] = frozenset()) -> None:
        """Take all columns of all tables of the query around the node."""
        for bound in self._scopes.of(node).bounds:
            self._add_all(node, bound.relation, bound.left_out(except_))

    def _take_everything(self, node: exp.Expr) -> None:
        for bound in self._scopes.bounds:
            self._add_all(node, bound.relation)

    def _is_known(self, name: str) -> bool:
        """Whether the statement or a function in it introduces this name."""
        if self._labels is None:
            self._labels = {fold(each.name) for each in self._nodes if _is_new(each)} | _OF_THE_SYSTEM
            for node in self._nodes:
                if isinstance(node, exp.Anonymous):
                    self._labels.add(fold(node.name))
                elif isinstance(node, exp.Func):
                    self._labels |= {fold(each) for each in node.sql_names()}
        return name in self._labels

    def _meant(self, bound: TableInQuery, name: str) -> list[str]:
        found = bound.meant(name)
        if not found and name in self._views.wanted(bound.relation):
            return [name]  # listed as personal, though the engine did not report it
        return found

    def _add_all(self, node: exp.Expr, relation: Relation, except_: frozenset[str] = frozenset()) -> None:
        added = self._place(node), relation, except_
        if added in self._whole:
            return
        self._whole.add(added)
        wanted = frozenset(self._views.wanted(relation))
        for name in (wanted if relation.definition is None else relation.folded | wanted) - except_:
            self._add(node, relation, name)

    def _add(self, node: exp.Expr, relation: Relation, name: str) -> None:
        found = self._by_place.setdefault(self._place(node), set())
        if name in self._views.wanted(relation):
            found.add((relation, name))
        if relation.definition is not None:
            reached, behind = self._views.through(relation, name)
            found |= reached
            self.relations |= behind

    def _place(self, node: exp.Expr) -> int | None:
        """The output column of the view that a node belongs to; None if it concerns all."""
        if not self._has_places:
            return None
        below = node
        while below.parent is not None and below.parent is not self._statement:
            below = below.parent
        return below.index if below.arg_key == "expressions" else None


def _excepted(star: exp.Star) -> frozenset[str]:
    """The columns that a star leaves out of every table. A column that is left out of only one table may come from
    another."""
    left_out = (each for each in star.args.get("except_") or () if not getattr(each, "table", ""))
    return frozenset(exact(each.name) for each in left_out)


def _is_new(node: exp.Expr) -> bool:
    """Whether this is an identifier that gives a name to something."""
    return isinstance(node, exp.Identifier) and node.arg_key in _NEW_NAMES.get(type(node.parent), ())
