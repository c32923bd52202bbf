"""Read a text of SQL: its statements, their actions, and the tables and columns they reach.

A person who is asked about a statement reads the names of its actions before its text. A statement with an action that
has no name is refused, so that no change hides in a part of the text that a person does not see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sqlglot import exp
from sqlglot.errors import SqlglotError

from handraise.display import for_line
from handraise.guards.sql.columns import ColumnReach, Reached, UnknownTable, ViewColumns
from handraise.guards.sql.parsing import MAX_TEXT, ParsedSql, UnreadableSql, parse
from handraise.guards.sql.schema import Catalogue, Relation, Schema, fold

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
    if isinstance(statement, exp.Alias | exp.Condition):  # LISTEN x reads as x under another name
        raise UnreadableSql("It begins with no keyword that the guard knows.")
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
    """The names of all tables in these parts: every table that a name may mean, or the text of a new one."""
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


_REACHES: Final = (
    exp.AIAgg, exp.AIClassify, exp.AIEmbed, exp.AIForecast, exp.AIGenerate, exp.AISimilarity, exp.AISummarizeAgg,
    exp.FeaturesAtTime, exp.GapFill, exp.GenerateBool, exp.GenerateDouble, exp.GenerateEmbedding, exp.GenerateInt,
    exp.GenerateTable, exp.GenerateText, exp.MLForecast, exp.MLTranslate, exp.NextValueFor, exp.Predict,
    exp.ReadCSV, exp.ReadParquet, exp.Secret, exp.ToFile, exp.VectorSearch,
)  # fmt: skip
"""Functions that the parser knows but that do more than compute."""

_HARMLESS: Final = frozenset(
    {
        "acos", "asin", "atan", "atan2", "age", "bit_count", "bit_length", "btrim", "cardinality",
        "cbrt", "char_length", "character_length", "chr", "clock_timestamp", "concat_ws", "cot", "count_star",
        "date_bin", "date_part", "datediff", "day", "dayname", "degrees", "div", "epoch",
        "epoch_ms", "even", "factorial", "format", "gcd", "generate_series", "generate_subscripts",
        "hash", "hour", "instr", "isfinite", "isinf", "isnan", "json_agg", "json_array_elements",
        "json_array_elements_text", "json_array_length", "json_build_array", "json_build_object", "json_each",
        "json_each_text", "json_object_keys", "jsonb_agg", "jsonb_array_elements", "jsonb_array_elements_text",
        "jsonb_build_array", "jsonb_build_object", "jsonb_each", "jsonb_each_text", "jsonb_object_keys",
        "jsonb_pretty", "justify_days", "lcm", "len",
        "levenshtein", "list", "list_aggregate", "list_contains", "list_sort", "list_sum",
        "list_value", "log10", "log2", "ltrim", "make_date", "make_interval", "make_timestamp",
        "minute", "mod", "monthname", "now", "octet_length", "overlay", "pi", "position", "power",
        "printf", "quarter", "radians", "random", "range", "repeat", "row", "row_to_json", "rtrim", "scale", "second",
        "sequence", "sha256", "sign", "sin", "statement_timestamp", "strlen", "strpos", "struct_pack", "substr",
        "tan", "time_bucket", "to_char", "to_date", "to_hex", "to_json", "to_jsonb", "to_number", "to_timestamp",
        "trunc", "typeof", "unnest", "version", "week", "width_bucket", "year", "yearweek",
    }
)  # fmt: skip


def unknown_functions(nodes: Iterable[exp.Expr], words: frozenset[str], made: frozenset[str]) -> list[str]:
    """The names of the functions in a statement whose effects nobody knows.

    A function that somebody `made` counts wherever its name stands: in PostgreSQL, `p.leak` calls `leak(p)`.
    """
    found = dict.fromkeys(sorted(words & made)) if made else {}
    for node in nodes:
        match node:
            case exp.Anonymous() if (name := fold(node.name)) not in _HARMLESS:
                found[name] = None
            case exp.Operator():
                found[str(node.args.get("operator"))] = None
            case exp.Func() if isinstance(node, _REACHES):
                found[fold(node.sql_name())] = None
    return list(found)


MOST_STATEMENTS: Final = 10
MOST_CHANGES: Final = 500
"""Characters for all changes of a text together: a person has to read each of them."""


@dataclass(frozen=True, slots=True)
class SqlEffects:
    """The effects of a text. Columns are named as people read them, with their tags."""

    kinds: tuple[StatementKind, ...]
    columns: tuple[tuple[str, tuple[str, ...]], ...]
    relations: frozenset[Relation]
    """The tables and views that are reached, those behind views included."""
    functions: tuple[str, ...]
    """Functions whose effects nobody knows."""
    actions: tuple[SqlAction, ...] = ()
    """Each change first, then each table that is only read."""
    shown: tuple[str, ...] = ()
    """The text of each statement, without comments."""
    comments: int = 0
    """How many characters of comments there are."""

    @property
    def can_be_estimated(self) -> bool:
        """Whether the statement may be planned. Planning binds functions, which may open files."""
        return len(self.kinds) == 1 and self.kinds[0] in ("read", "write") and not self.functions


class SqlReader:
    """Reads texts over one schema. It remembers what its views reach."""

    def __init__(self, dialect: str, schema: Schema, catalogue: Catalogue) -> None:
        self.schema = schema
        self._dialect = dialect
        self._catalogue = catalogue
        self._personal: dict[Relation, dict[str, tuple[str, ...]]] = {}
        self._views = ViewColumns(schema, self._wanted, self._definition)
        self._in_views: dict[Relation, list[str]] = {}

    def read(self, text: str) -> SqlEffects:
        """Read a text. Raises `UnreadableSql` when its effects cannot be told for sure, or not be shown."""
        try:
            return self._read(parse(text, self._dialect))
        except UnknownTable as error:
            raise UnreadableSql(
                f"It names {error}, which is no table or view that the guard knows."
            ) from None
        except RecursionError:
            raise UnreadableSql("It, or a view that it names, has too much within each other.") from None

    def _read(self, parsed: ParsedSql) -> SqlEffects:
        if len(parsed.statements) > MOST_STATEMENTS:
            raise UnreadableSql(f"It has more than {MOST_STATEMENTS} statements; run them one by one.")
        columns: dict[str, tuple[str, ...]] = {}
        kinds: list[StatementKind] = []
        relations: set[Relation] = set()
        functions: dict[str, None] = {}
        changes: dict[SqlAction, None] = {}
        tables: set[str] = set()
        for nodes in parsed.statements:
            if self._dialect == "duckdb":
                _require_lasting(nodes)
            kind = kind_of(nodes)
            kinds.append(kind)
            changes.update(dict.fromkeys(changes_of(nodes, self.schema, self._dialect, self._behind)))
            functions.update(dict.fromkeys(self._strange(nodes, parsed.words)))
            reach = ColumnReach(self._views)
            reached = reach.of(nodes, new_tables=kind in ("definition", "outside"))
            relations |= reach.relations
            tables.update(unknown_tables(nodes, self.schema))
            for relation, column in reached | self._unseen(parsed, reach.relations):
                columns[f"{relation.name}.{_spelled(relation, column)}"] = self._wanted(relation)[column]
        if sum(len(each.verb) + len(each.shown) for each in changes) > MOST_CHANGES:
            raise UnreadableSql("It changes more than a question can name; run it in several parts.")
        for relation in relations & self._in_views.keys():
            functions.update(dict.fromkeys(self._in_views[relation]))
        tables |= {relation.name for relation in relations}
        read = sorted(tables - {change.name for change in changes})
        return SqlEffects(
            tuple(kinds),
            tuple(sorted(columns.items())),
            frozenset(relations),
            tuple(functions),
            (*changes, *(SqlAction("read", "reads", name) for name in read)),
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

    def _unseen(self, parsed: ParsedSql, relations: set[Relation]) -> Reached:
        """Personal columns in the text that the parser read as something else."""
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
            raise UnreadableSql(f"The view {view.name} has a definition that the guard cannot read.")
        if strange := self._strange(tuple(body.walk()), parsed.words):
            self._in_views[view] = strange
        return body


def _require_lasting(nodes: Sequence[exp.Expr]) -> None:
    """Refuse temporary objects: DuckDB hides them from other connections, so also from the guard."""
    if any(isinstance(node, exp.TemporaryProperty) for node in nodes):
        raise UnreadableSql("It makes something temporary, which the guard would not see later on.")


def _spelled(relation: Relation, column: str) -> str:
    return next((name for name in relation.columns if fold(name) == column), column)
