"""Read a text of SQL: its statements, what each does, and which tables and columns they reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from handraise.guards.sql.actions import Action, Kind, changes_of, kind_of, unknown_tables
from handraise.guards.sql.catalogue import Catalogue
from handraise.guards.sql.functions import unknown_functions
from handraise.guards.sql.parsing import Parsed, Unreadable, parse
from handraise.guards.sql.reach import Reach, Reached, Views
from handraise.guards.sql.schema import Relation, Schema, fold
from handraise.guards.sql.scopes import UnknownTable

MOST_STATEMENTS: Final = 10
MOST_CHANGES: Final = 500
"""Characters for all changes of a text together: each has to be named to a person, in a message of 2,000."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The effects of a text. Columns are named as people read them, with their tags."""

    kinds: tuple[Kind, ...]
    columns: tuple[tuple[str, tuple[str, ...]], ...]
    relations: frozenset[Relation]
    """The tables and views that are reached, those behind views included."""
    functions: tuple[str, ...]
    """Those of which nobody knows what they do."""
    actions: tuple[Action, ...] = ()
    """Each change first, then each table that is only read."""
    shown: tuple[str, ...] = ()
    """The text of each statement, without comments."""
    comments: int = 0
    """How many characters of comments there are."""

    @property
    def can_be_estimated(self) -> bool:
        """Planning binds functions, which may open files already, so a statement with strange ones is not planned."""
        return len(self.kinds) == 1 and self.kinds[0] in ("read", "write") and not self.functions


class Reader:
    """Reads texts over one schema. It remembers what its views reach."""

    def __init__(self, dialect: str, schema: Schema, catalogue: Catalogue) -> None:
        self.schema = schema
        self._dialect = dialect
        self._catalogue = catalogue
        self._personal: dict[Relation, dict[str, tuple[str, ...]]] = {}
        self._views = Views(schema, self._wanted, self._definition)
        self._in_views: dict[Relation, list[str]] = {}

    def read(self, text: str) -> Reading:
        """Read a text. Raises `Unreadable` when its effects cannot be told for sure, or not be shown."""
        try:
            return self._read(parse(text, self._dialect))
        except UnknownTable as error:
            raise Unreadable(f"It names {error}, which is no table or view that the guard knows.") from None
        except RecursionError:
            raise Unreadable("It, or a view that it names, has too much within each other.") from None

    def _read(self, parsed: Parsed) -> Reading:
        if len(parsed.statements) > MOST_STATEMENTS:
            raise Unreadable(f"It has more than {MOST_STATEMENTS} statements; run them one by one.")
        columns: dict[str, tuple[str, ...]] = {}
        kinds: list[Kind] = []
        relations: set[Relation] = set()
        functions: dict[str, None] = {}
        changes: dict[Action, None] = {}
        tables: set[str] = set()
        for nodes in parsed.statements:
            if self._dialect == "duckdb":
                _require_lasting(nodes)
            kind = kind_of(nodes)
            kinds.append(kind)
            changes.update(dict.fromkeys(changes_of(nodes, self.schema, self._dialect, self._behind)))
            functions.update(dict.fromkeys(self._strange(nodes, parsed.words)))
            reach = Reach(self._views)
            reached = reach.of(nodes, new_tables=kind in ("definition", "outside"))
            relations |= reach.relations
            tables.update(unknown_tables(nodes, self.schema))
            for relation, column in reached | self._unseen(parsed, reach.relations):
                columns[f"{relation.name}.{_spelled(relation, column)}"] = self._wanted(relation)[column]
        if sum(len(each.verb) + len(each.shown) for each in changes) > MOST_CHANGES:
            raise Unreadable("It changes more than a question can name; run it in several parts.")
        for relation in relations & self._in_views.keys():
            functions.update(dict.fromkeys(self._in_views[relation]))
        tables |= {relation.name for relation in relations}
        read = sorted(tables - {change.name for change in changes})
        return Reading(
            tuple(kinds),
            tuple(sorted(columns.items())),
            frozenset(relations),
            tuple(functions),
            (*changes, *(Action("read", "reads", name) for name in read)),
            parsed.shown,
            parsed.comments,
        )

    def _behind(self, relation: Relation) -> set[Relation]:
        return set() if relation.definition is None else self._views.through(relation, "")[1]

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
        parsed = parse(view.definition, self._dialect)
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


def _require_lasting(nodes: Sequence[exp.Expr]) -> None:
    """Refuse to make what DuckDB shows to its own connection only: it would hide a table or function from the guard."""
    if any(isinstance(node, exp.TemporaryProperty) for node in nodes):
        raise Unreadable("It makes something temporary, which the guard would not see later on.")


def _spelled(relation: Relation, column: str) -> str:
    return next((name for name in relation.columns if fold(name) == column), column)
