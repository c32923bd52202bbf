"""What a text of SQL says: its statements, of what kind they are, and what they reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sqlglot import exp

from handraise.guards.sql.catalogue import Catalogue
from handraise.guards.sql.functions import unknown_functions
from handraise.guards.sql.parsing import Parsed, Shape, Unreadable, Words, parse, split
from handraise.guards.sql.plain import plainly_reached
from handraise.guards.sql.reach import Reach, Reached, Views
from handraise.guards.sql.schema import Relation, Schema, fold
from handraise.guards.sql.scopes import UnknownTable

Kind = Literal["read", "write", "definition", "outside"]

_READS: Final = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values, exp.Summarize, exp.Pivot)
_WRITES: Final = (exp.Insert, exp.Update, exp.Delete, exp.Merge)
_DEFINES: Final = (
    exp.Create, exp.Drop, exp.Alter, exp.TruncateTable, exp.Comment, exp.Grant, exp.Revoke,
)  # fmt: skip
_OUTSIDE: Final = (exp.Copy, exp.Attach, exp.Detach, exp.Pragma, exp.Set, exp.Use, exp.Install)
_ALSO_WRITES: Final = (*_WRITES, exp.Into, exp.Lock)
_MOST_KEPT: Final = 500


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says. Columns are named as people read them, with their tags."""

    kinds: tuple[Kind, ...]
    columns: tuple[tuple[str, tuple[str, ...]], ...]
    relations: frozenset[Relation]
    """The tables and views that are reached, those behind views included."""
    functions: tuple[str, ...]
    """Those of which nobody knows what they do."""

    @property
    def can_be_estimated(self) -> bool:
        """Planning binds functions, which may open files already, so a statement with strange ones is not planned."""
        return len(self.kinds) == 1 and self.kinds[0] in ("read", "write") and not self.functions


class Reader:
    """Reads texts over one schema. What was found out about them and its views is kept."""

    def __init__(self, dialect: str, schema: Schema, catalogue: Catalogue) -> None:
        self.schema = schema
        self._dialect = dialect
        self._catalogue = catalogue
        self._personal: dict[Relation, dict[str, tuple[str, ...]]] = {}
        self._views = Views(schema, self._wanted, self._definition)
        self._in_views: dict[Relation, list[str]] = {}
        self._kept: dict[Shape, Reading] = {}

    def read(self, text: str) -> Reading:
        """Read a text. Raises `Unreadable` when it cannot be told for sure what it does."""
        words = split(text, self._dialect)
        shape = words.shape
        if (kept := self._kept.get(shape)) is not None:
            return kept
        if (tables := plainly_reached(words, self.schema, self._wanted)) is not None:
            reading = Reading(("read",), (), tables, ())
        else:
            reading = self.read_parsed(words)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[shape] = reading
        return reading

    def read_parsed(self, words: Words) -> Reading:
        """Read a text that need not be plain. Raises `Unreadable`."""
        try:
            return self._read(parse(words))
        except UnknownTable as error:
            raise Unreadable(f"It names {error}, which is no table or view that the guard knows.") from None
        except RecursionError:
            raise Unreadable("It, or a view that it names, has too much within each other.") from None

    def _read(self, parsed: Parsed) -> Reading:
        columns: dict[str, tuple[str, ...]] = {}
        kinds: list[Kind] = []
        relations: set[Relation] = set()
        functions: dict[str, None] = {}
        for nodes in parsed.statements:
            if self._dialect == "duckdb":
                _require_lasting(nodes)
            kind = _kind(nodes)
            kinds.append(kind)
            functions.update(dict.fromkeys(self._strange(nodes, parsed.words)))
            reach = Reach(self._views)
            reached = reach.of(nodes, new_tables=kind in ("definition", "outside"))
            relations |= reach.relations
            for relation, column in reached | self._unseen(parsed, reach.relations):
                columns[f"{relation.name}.{_spelled(relation, column)}"] = self._wanted(relation)[column]
        for relation in relations & self._in_views.keys():
            functions.update(dict.fromkeys(self._in_views[relation]))
        return Reading(tuple(kinds), tuple(sorted(columns.items())), frozenset(relations), tuple(functions))

    def _wanted(self, relation: Relation) -> dict[str, tuple[str, ...]]:
        if (known := self._personal.get(relation)) is None:
            known = self._personal[relation] = self._catalogue.personal(relation)
        return known

    def _strange(self, nodes: Sequence[exp.Expr], words: frozenset[str]) -> list[str]:
        return unknown_functions(nodes, words, self.schema.folded_functions)

    def _unseen(self, parsed: Parsed, relations: set[Relation]) -> Reached:
        """Personal columns that the text names and that the parser made something else of."""
        named = {(each, name) for each in relations for name in parsed.names.intersection(self._wanted(each))}
        if not named:
            return named
        seen = {
            fold(node.name)
            for nodes in parsed.statements
            for node in nodes
            if isinstance(node, exp.Identifier | exp.Var)
        }
        return {(relation, name) for relation, name in named if name not in seen}

    def _definition(self, view: Relation) -> exp.Expr:
        assert view.definition is not None
        parsed = parse(split(view.definition, self._dialect))
        made = parsed.statements[0][0]
        body = made.expression if isinstance(made, exp.Create) else made
        if not isinstance(body, exp.Expr):
            raise Unreadable(f"The view {view.name} has a definition that the guard cannot read.")
        if strange := self._strange(tuple(body.walk()), parsed.words):
            self._in_views[view] = strange
        return body


def read(text: str, dialect: str, schema: Schema, catalogue: Catalogue) -> Reading:
    """Read one text alone."""
    return Reader(dialect, schema, catalogue).read(text)


def _kind(nodes: Sequence[exp.Expr]) -> Kind:
    statement = nodes[0]
    if any(isinstance(node, exp.Command) for node in nodes):
        raise Unreadable("There is a kind of statement in it that the guard cannot read.")
    if isinstance(statement, _OUTSIDE):
        return "outside"
    if isinstance(statement, _DEFINES):
        return "definition"
    if any(isinstance(node, _ALSO_WRITES) for node in nodes):
        return "write"
    if isinstance(statement, _READS):
        return "read"
    raise Unreadable(f"{statement.key.upper()} is a kind of statement that the guard cannot read.")


def _require_lasting(nodes: Sequence[exp.Expr]) -> None:
    """Refuse to make what DuckDB shows to its own connection only: it would hide a table or function from the guard."""
    if any(isinstance(node, exp.TemporaryProperty) for node in nodes):
        raise Unreadable("It makes something temporary, which the guard would not see later on.")


def _spelled(relation: Relation, column: str) -> str:
    return next((name for name in relation.columns if fold(name) == column), column)
