"""Read a text of SQL: its statements, their actions, and the tables and columns they reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from handraise.guards.sql.actions import SqlAction, StatementKind, changes_of, kind_of, unknown_tables
from handraise.guards.sql.catalogue import Catalogue
from handraise.guards.sql.columns import ColumnReach, Reached, ViewColumns
from handraise.guards.sql.parsing import ParsedSql, UnreadableSql, parse
from handraise.guards.sql.schema import Relation, Schema, fold
from handraise.guards.sql.scopes import UnknownTable

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

    One that somebody `made` counts wherever its name stands, because `p.leak` calls `leak(p)` in PostgreSQL.
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


def read(text: str, dialect: str, schema: Schema, catalogue: Catalogue) -> SqlEffects:
    """Read one text alone."""
    return SqlReader(dialect, schema, catalogue).read(text)


def _require_lasting(nodes: Sequence[exp.Expr]) -> None:
    """Refuse temporary objects: DuckDB hides them from other connections, so also from the guard."""
    if any(isinstance(node, exp.TemporaryProperty) for node in nodes):
        raise UnreadableSql("It makes something temporary, which the guard would not see later on.")


def _spelled(relation: Relation, column: str) -> str:
    return next((name for name in relation.columns if fold(name) == column), column)
