"""Name every action of a statement: its verb, and the table or other object that it is about.

A person who is asked about a statement reads these names before its text. A statement with an action that has no name
is refused, so that no change hides in a part of the text that a person does not see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sqlglot import exp
from sqlglot.errors import SqlglotError

from handraise.display import for_line
from handraise.guards.sql.parsing import MAX_TEXT, UnreadableSql
from handraise.guards.sql.schema import Relation, Schema, fold

StatementKind = Literal["read", "write", "definition", "outside"]
Behind = Callable[[Relation], Iterable[Relation]]
"""The tables behind a view; none for a table."""

LONGEST_NAME: Final = 160
_READS: Final = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values, exp.Summarize, exp.Pivot)
_WRITES: Final = (exp.Insert, exp.Update, exp.Delete, exp.Merge)
_DEFINES: Final = (
    exp.Create, exp.Drop, exp.Alter, exp.TruncateTable, exp.Comment, exp.Grant, exp.Revoke,
)  # fmt: skip
_OUTSIDE: Final = (exp.Copy, exp.Attach, exp.Detach, exp.Pragma, exp.Set, exp.Use, exp.Install)
_ALSO_WRITES: Final = (*_WRITES, exp.Into, exp.Lock)
_MAKES: Final = frozenset({"DATABASE", "INDEX", "SCHEMA", "SEQUENCE", "TABLE", "TYPE", "VIEW"})
"""The objects that a statement may create. Any other object may hold code, such as a function, a macro or a trigger."""


@dataclass(frozen=True, slots=True, order=True)
class SqlAction:
    """One verb and one object: `DELETE FROM` and `people`."""

    kind: StatementKind
    verb: str
    name: str

    @property
    def shown(self) -> str:
        """The name with nothing hidden in it, on one line and never cut."""
        return for_line(self.name, limit=MAX_TEXT * 20)


def kind_of(nodes: Sequence[exp.Expr]) -> StatementKind:
    """The kind of a statement, by its nodes. Raises `UnreadableSql` for one whose effect cannot be seen."""
    statement = nodes[0]
    if (command := next((node for node in nodes if isinstance(node, exp.Command)), None)) is not None:
        raise UnreadableSql(f"The guard cannot see what {_word(command.name)} does.")
    if isinstance(statement, _OUTSIDE):
        return "outside"
    if isinstance(statement, _DEFINES):
        return "definition"
    if any(isinstance(node, _ALSO_WRITES) for node in nodes):
        return "write"
    if isinstance(statement, _READS):
        return "read"
    raise UnreadableSql(f"The guard cannot see what {_word(statement.key)} does.")


def changes_of(
    nodes: Sequence[exp.Expr], schema: Schema, dialect: str, behind: Behind
) -> Iterator[SqlAction]:
    """Everything that a statement changes. A change of a view names the tables behind it, too.

    Raises `UnreadableSql` when a change has no name, or one that is too long to be shown.
    """
    for node in nodes:
        if isinstance(node, _ALSO_WRITES) and not isinstance(node.parent, exp.When):
            verb, parts = _write(node)
            yield from _about("write", verb, _tables(parts, schema, behind))
    kind = kind_of(nodes)
    if kind in ("definition", "outside"):
        yield from _about(kind, *_definition(nodes[0], schema, dialect))


def unknown_tables(nodes: Sequence[exp.Expr], schema: Schema) -> Iterator[str]:
    """The names in a statement that are not tables of the engine: those that it makes or drops."""
    made = {fold(node.alias) for node in nodes if isinstance(node, exp.CTE)}
    for node in nodes:
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            path = tuple(part.name for part in node.parts)
            if not schema.named(path) and fold(path[-1]) not in made:
                yield ".".join(path)


def _write(node: exp.Expr) -> tuple[str, Iterable[object]]:
    """The verb of a change, and the parts of it that name its tables."""
    match node:
        case exp.Insert():
            alternative = node.args.get("alternative")
            verb = f"INSERT OR {str(alternative).upper()} INTO" if alternative else "INSERT INTO"
            if node.args.get("overwrite"):
                verb = "INSERT OVERWRITE"
            elif (conflict := node.args.get("conflict")) is not None and conflict.expressions:
                verb = "INSERT INTO or UPDATE"
            return verb, [node.this]
        case exp.Update():
            return "UPDATE", [node.this]
        case exp.Delete():
            return "DELETE FROM", [node.this, *(node.args.get("tables") or ())]
        case exp.Merge():
            steps = (each.args["then"] for each in node.find_all(exp.When))
            verbs = dict.fromkeys(_word(step.name or step.key) for step in steps)
            return f"MERGE ({', '.join(verbs)}) INTO", [node.this]
        case exp.Into():
            return "SELECT INTO", [node.this]
        case exp.Lock(parent=exp.Query() as query):
            return "LOCK ROWS OF", query.find_all(exp.Table)
    raise UnreadableSql(f"The guard cannot see what {_word(node.key)} changes.")


def _definition(node: exp.Expr, schema: Schema, dialect: str) -> tuple[str, list[str]]:
    """The verb of a statement that defines something or reaches outside, and its names."""
    cascades = node.args.get("cascade") or str(node.args.get("option")).upper() == "CASCADE"
    behind = " CASCADE, with all that depends on" if cascades else ""
    match node:
        case exp.Create():
            what = _word(node.args.get("kind") or "")
            if what not in _MAKES:
                raise UnreadableSql(
                    f"It makes a {what}; the guard cannot see what it will do when it is called."
                )
            verb = f"CREATE OR REPLACE {what}" if node.args.get("replace") else f"CREATE {what}"
            made = node.this.find(exp.Table)  # the tables after it are only referred to
            return verb, _tables([made, node.args.get("properties")], schema)
        case exp.Drop():
            what = _word(node.args.get("kind") or "")
            return f"DROP {what}{behind}", _tables([node.this, *(node.args.get("tables") or ())], schema)
        case exp.Alter():
            return f"ALTER {_word(node.args.get('kind') or '')}", _tables([node], schema)
        case exp.TruncateTable():
            return f"TRUNCATE{behind}", _tables(node.expressions, schema)
        case exp.Copy():
            verb = "COPY FROM A FILE INTO" if node.args.get("kind") else "COPY TO A FILE FROM"
            target = node.this if isinstance(node.this, exp.Table | exp.Schema) else None
            files = node.args.get("files") or ()
            if not all(each.is_string or each.name.upper() in ("STDIN", "STDOUT") for each in files):
                raise UnreadableSql("The guard cannot see what the program of its COPY does.")
            return verb, [
                *(_tables([target], schema) if target is not None else ["a query"]),
                *(_sql(each, dialect) for each in files),
            ]
        case exp.Grant() | exp.Revoke():
            rights = ", ".join(_sql(each, dialect) for each in node.args.get("privileges") or ())
            people = ", ".join(_sql(each, dialect) for each in node.args.get("principals") or ())
            way = "TO" if isinstance(node, exp.Grant) else "FROM"
            return f"{_word(node.key)} {rights} ON", [
                f"{_sql(node.args['securable'], dialect)} {way} {people}"
            ]
        case exp.Comment():
            return f"COMMENT ON {_word(node.args.get('kind') or '')}", [_sql(node.this, dialect)]
    named = [part for part in (node.this, *node.expressions) if isinstance(part, exp.Expr)]
    return _word(node.key), [_sql(part, dialect) for part in named]


def _tables(parts: Iterable[object], schema: Schema, behind: Behind | None = None) -> list[str]:
    """The names of all tables in these parts, each that a name may mean; a new one as it is written."""
    found: list[str] = []
    named = (part for part in parts if isinstance(part, exp.Expr))
    for table in (each for part in named for each in part.find_all(exp.Table)):
        path = tuple(part.name for part in table.parts)
        known = schema.named(path)
        found += [relation.name for relation in known] or [".".join(path)]
        if behind is not None:
            for relation in known:
                found += sorted(f"{each.name} (behind {relation.name})" for each in behind(relation))
    return found


def _about(kind: StatementKind, verb: str, names: Iterable[str]) -> list[SqlAction]:
    found = [SqlAction(kind, verb, name) for name in dict.fromkeys(names)]
    if not found or not all(action.name.strip(". ") for action in found):
        raise UnreadableSql(f"The guard cannot see what its {verb} is about.")
    if any(len(action.shown) > LONGEST_NAME for action in found):
        raise UnreadableSql("It names something with more characters than a question can show.")
    return found


def _sql(part: exp.Expr, dialect: str) -> str:
    """A part of a statement as text, without comments."""
    try:
        return part.sql(dialect=dialect, comments=False)
    except (SqlglotError, ValueError) as error:
        raise UnreadableSql(f"A part of it cannot be shown ({type(error).__name__}).") from None


def _word(text: object) -> str:
    """A keyword as people read it."""
    return " ".join(str(text).upper().split())[:40]
