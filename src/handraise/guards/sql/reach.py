"""Which columns of which tables a statement reaches: every one that it names, or that a star or a whole row brings.

Where that cannot be told exactly, more is taken, never less. Through a view only what is used of it counts, and what
the view itself looks at to find its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from handraise.guards.sql.schema import Path, Relation, Schema, fold

Reached = set[tuple[Relation, str]]
"""Tables, each with a column in one spelling."""
Columns = Callable[[Relation], Iterable[str]]
"""The columns of a table that have to be found, in one spelling."""
Define = Callable[[Relation], exp.Expr]

_OWNERS = (exp.Select, exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Copy, exp.Create)
_BRINGS_ALL = (exp.Columns, exp.Pivot, exp.PositionalColumn, exp.Summarize)
_MAX_VIEWS = 32


class UnknownTable(Exception):
    """A statement names what is no table or view of the engine's."""


@dataclass
class _Scope:
    """One query or change, and what its names may mean."""

    relations: dict[str, list[Relation]] = field(default_factory=dict)
    outer: _Scope | None = None

    def chain(self) -> Iterator[_Scope]:
        scope: _Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer


class Reach:
    """What one statement reaches. `wanted` says which columns matter, `define` gives a view's parsed definition."""

    def __init__(self, schema: Schema, wanted: Columns, define: Define, *, depth: int = 0) -> None:
        self._schema = schema
        self._wanted = wanted
        self._define = define
        self._depth = depth
        self.tables: set[Relation] = set()
        """The tables, those behind views included."""
        self._by_place: dict[int | None, Reached] = {}

    def of(self, statement: exp.Expr, *, new_tables: bool = False) -> Reached:
        """The columns that matter and are reached. `new_tables`: the statement may name what it makes."""
        self._statement = statement
        self._scopes: dict[int, _Scope] = {}
        self._named = {fold(cte.alias) for cte in statement.find_all(exp.CTE)}
        nodes = list(statement.walk())
        for node in nodes:
            if isinstance(node, exp.Table):
                self._take_table(node, new_tables)
        for node in nodes:
            self._take(node)
        return set().union(*self._by_place.values())

    def by_column(self, view: Relation) -> dict[str | None, Reached]:
        """What each column of a view reaches; under None what all of them do."""
        root = self._statement
        plain = isinstance(root, exp.Select) and len(root.expressions) == len(view.columns)
        if not plain or any(each.is_star for each in root.expressions):
            return {None: set().union(*self._by_place.values())}
        found: dict[str | None, Reached] = {None: self._by_place.get(None, set())}
        for place, name in enumerate(view.columns):
            found[fold(name)] = self._by_place.get(place, set())
        return found

    def _take_table(self, node: exp.Table, new_tables: bool) -> None:
        if not isinstance(node.this, exp.Identifier):
            return  # a table function: the functions are looked at apart
        path: Path = tuple(part.name for part in node.parts)
        derived = len(path) == 1 and fold(path[0]) in self._named
        relations = self._schema.named(path)
        if not relations and not derived and not new_tables:
            raise UnknownTable(".".join(path))
        scope = self._scope_of(node)
        scope.relations.setdefault(fold(node.alias_or_name), []).extend(relations)
        self.tables.update(each for each in relations if each.definition is None)

    def _scope_of(self, node: exp.Expr) -> _Scope:
        owner = node.find_ancestor(*_OWNERS) or self._statement
        if id(owner) not in self._scopes:
            outer = self._scope_of(owner) if owner is not self._statement and owner.parent else None
            self._scopes[id(owner)] = _Scope(outer=outer)
        return self._scopes[id(owner)]

    def _take(self, node: exp.Expr) -> None:
        match node:
            case exp.Column(this=exp.Star()):
                self._take_all(node, fold(node.table))
            case exp.Column():
                self._take_column(node)
            case exp.Star() if not isinstance(node.parent, exp.Column | exp.Count):
                self._take_all(node, None, except_=_excepted(node))
            case exp.Join() if node.args.get("method") == "NATURAL":
                self._take_all(node, None)
            case exp.Identifier() if not _is_label(node):
                self._take_name(node, fold(node.name))
            case exp.Insert() if not isinstance(node.this, exp.Schema):
                self._take_all(node, None)
            case exp.Copy(this=exp.Table()):
                self._take_all(node.this, None)
            case _ if isinstance(node, _BRINGS_ALL):
                for scope in self._scopes.values():
                    self._add_all(node, [each for found in scope.relations.values() for each in found])

    def _take_column(self, node: exp.Column) -> None:
        if isinstance(node.parent, exp.Star):
            return  # named to be left out
        name, qualifier = fold(node.name), fold(node.table)
        for scope in self._scope_of(node).chain():
            if qualifier and qualifier in scope.relations:
                for relation in scope.relations[qualifier]:
                    self._add(node, relation, name)
                return
        self._take_name(node, name)
        if qualifier and qualifier not in self._derived():
            self._take_name(node, qualifier)  # a field of a column

    def _derived(self) -> set[str]:
        if not hasattr(self, "_aliases"):
            derived = self._statement.find_all(exp.Subquery, exp.CTE, exp.Table)
            self._aliases = {fold(each.alias_or_name) for each in derived}
        return self._aliases

    def _take_name(self, node: exp.Expr, name: str) -> None:
        """A name without a table before it: of the innermost query that has it; or of any, or a whole row."""
        scopes = [*self._scope_of(node).chain()]
        for scope in [*scopes, *self._scopes.values()]:
            having = [
                each for found in scope.relations.values() for each in found if name in self._columns(each)
            ]
            for relation in having:
                self._add(node, relation, name)
            if having:
                return
        for scope in scopes:
            if name in scope.relations and isinstance(node, exp.Column):
                self._add_all(node, scope.relations[name])

    def _take_all(self, node: exp.Expr, qualifier: str | None, except_: frozenset[str] = frozenset()) -> None:
        scopes = [*self._scope_of(node).chain()] if qualifier else [self._scope_of(node)]
        for scope in scopes:
            for alias, relations in scope.relations.items():
                if qualifier is None or alias == qualifier:
                    self._add_all(node, relations, except_)

    def _add_all(
        self, node: exp.Expr, relations: Iterable[Relation], except_: frozenset[str] = frozenset()
    ) -> None:
        for relation in relations:
            for name in self._columns(relation) - except_:
                self._add(node, relation, name)

    def _columns(self, relation: Relation) -> frozenset[str]:
        return relation.folded | frozenset(self._wanted(relation))

    def _add(self, node: exp.Expr, relation: Relation, name: str) -> None:
        found = self._by_place.setdefault(self._place(node), set())
        if relation.definition is not None:
            found |= self._through(relation, name)
        elif name in self._wanted(relation):
            found.add((relation, name))

    def _through(self, view: Relation, name: str) -> Reached:
        if self._depth >= _MAX_VIEWS:
            raise UnknownTable(f"{view.name}, a view of views too deep")
        inner = Reach(self._schema, self._wanted, self._define, depth=self._depth + 1)
        inner.of(self._define(view))
        self.tables |= inner.tables
        by_column = inner.by_column(view)
        return by_column[None] | by_column.get(name, set())

    def _place(self, node: exp.Expr) -> int | None:
        """Which output of the whole statement a node belongs to."""
        root, below = self._statement, node
        if not isinstance(root, exp.Select):
            return None
        while below.parent is not None and below.parent is not root:
            below = below.parent
        return below.index if below.arg_key == "expressions" else None


def _excepted(star: exp.Star) -> frozenset[str]:
    return frozenset(fold(each.name) for each in star.args.get("except_") or ())


def _is_label(node: exp.Identifier) -> bool:
    """Whether an identifier only names something new, or is part of a name that is looked at as a whole."""
    if isinstance(node.parent, exp.Column | exp.Table | exp.TableAlias | exp.CTE):
        return True
    return isinstance(node.parent, exp.Alias) and node.arg_key == "alias"
