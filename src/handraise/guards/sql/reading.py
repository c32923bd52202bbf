"""What a text of SQL says: its statements, of what kind they are, and what they reach."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from handraise.guards.sql.catalogue import Catalogue
from handraise.guards.sql.functions import unknown_functions
from handraise.guards.sql.reach import Reach, UnknownTable
from handraise.guards.sql.schema import Relation, Schema, fold

Kind = Literal["read", "write", "definition", "outside"]

MAX_TEXT: Final = 100_000

_READS: Final = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values, exp.Summarize, exp.Pivot)
_WRITES: Final = (exp.Insert, exp.Update, exp.Delete, exp.Merge)
_DEFINES: Final = (
    exp.Create, exp.Drop, exp.Alter, exp.TruncateTable, exp.Comment, exp.Grant, exp.Revoke,
)  # fmt: skip
_OUTSIDE: Final = (exp.Copy, exp.Attach, exp.Detach, exp.Pragma, exp.Set, exp.Use, exp.Install)
_ALSO_WRITES: Final = (*_WRITES, exp.Into, exp.Lock)

logging.getLogger("sqlglot").addFilter(lambda record: "unsupported syntax" not in record.getMessage())


class Unreadable(Exception):
    """A text of which nobody can say what it does. The message is a sentence for the model."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says. Columns are named as people read them, with their tags."""

    kinds: tuple[Kind, ...]
    columns: tuple[tuple[str, tuple[str, ...]], ...]
    tables: frozenset[Relation]
    functions: tuple[str, ...]
    """Those of which nobody knows what they do."""

    @property
    def can_be_estimated(self) -> bool:
        """Planning binds functions, which may open files already, so a statement with strange ones is not planned."""
        return len(self.kinds) == 1 and self.kinds[0] in ("read", "write") and not self.functions


def read(text: str, dialect: str, schema: Schema, catalogue: Catalogue) -> Reading:
    """Read a text. Raises `Unreadable` when it cannot be told for sure what it does."""
    statements = _parse(text, dialect)
    columns: dict[str, tuple[str, ...]] = {}
    kinds: list[Kind] = []
    tables: set[Relation] = set()
    functions: dict[str, None] = {}
    personal: dict[Relation, dict[str, tuple[str, ...]]] = {}

    def wanted(relation: Relation) -> dict[str, tuple[str, ...]]:
        if relation not in personal:
            personal[relation] = catalogue.personal(relation)
        return personal[relation]

    for statement in statements:
        kind = _kind(statement)
        kinds.append(kind)
        functions.update(dict.fromkeys(unknown_functions(statement, schema)))
        reach = Reach(schema, wanted, lambda view: _definition(view, dialect, schema, functions))
        try:
            reached = reach.of(statement, new_tables=kind in ("definition", "outside"))
        except UnknownTable as error:
            raise Unreadable(f"It names {error}, which is no table or view that the guard knows.") from None
        tables |= reach.tables
        for relation, column in reached:
            columns[f"{relation.name}.{_spelled(relation, column)}"] = wanted(relation)[column]
    return Reading(tuple(kinds), tuple(sorted(columns.items())), frozenset(tables), tuple(functions))


def _parse(text: str, dialect: str) -> tuple[exp.Expr, ...]:
    if len(text) > MAX_TEXT:
        raise Unreadable(f"It has more than {MAX_TEXT:,} characters.")
    statements = _parsed(text, dialect)
    if not statements:
        raise Unreadable("There is no statement in it.")
    return statements


@lru_cache(256)
def _parsed(text: str, dialect: str) -> tuple[exp.Expr, ...]:
    """The statements of a text; they are only looked at, so that the same text need not be parsed again."""
    try:
        parsed = sqlglot.parse(text, dialect=dialect)
    except (SqlglotError, RecursionError, ValueError) as error:
        where = str(error).partition("\n")[0][:120]
        raise Unreadable(f"It cannot be parsed as {dialect} ({where}).") from None
    return tuple(each for each in parsed if each is not None and not isinstance(each, exp.Semicolon))


def _kind(statement: exp.Expr) -> Kind:
    if statement.find(exp.Command) is not None:
        raise Unreadable("There is a kind of statement in it that the guard cannot read.")
    if isinstance(statement, _OUTSIDE):
        return "outside"
    if isinstance(statement, _DEFINES):
        return "definition"
    if isinstance(statement, _WRITES) or statement.find(*_ALSO_WRITES) is not None:
        return "write"
    if isinstance(statement, _READS):
        return "read"
    raise Unreadable(f"{statement.key.upper()} is a kind of statement that the guard cannot read.")


def _definition(view: Relation, dialect: str, schema: Schema, functions: dict[str, None]) -> exp.Expr:
    assert view.definition is not None
    (parsed,) = _parse(view.definition, dialect)[:1]
    body = parsed.expression if isinstance(parsed, exp.Create) else parsed
    if not isinstance(body, exp.Expr):
        raise Unreadable(f"The view {view.name} has a definition that the guard cannot read.")
    functions.update(dict.fromkeys(unknown_functions(body, schema)))
    return body


def _spelled(relation: Relation, column: str) -> str:
    return next((name for name in relation.columns if fold(name) == column), column)
