"""Functions that only compute. Any other may read files, the network or other tables, so a person is asked."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from handraise.guards.sql.schema import Schema, fold

_OUTSIDE: Final = frozenset(
    {"readcsv", "read_csv", "readparquet", "read_parquet", "loadfile", "externalquery"}
)
"""Functions that the parser knows by name and that reach outside all the same."""

_HARMLESS: Final = frozenset(
    {
        "acos", "asin", "atan", "atan2", "age", "bit_count", "bit_length", "btrim", "cardinality",
        "cbrt", "char_length", "character_length", "chr", "clock_timestamp", "concat_ws", "cot", "count_star",
        "date_bin", "date_part", "datediff", "day", "dayname", "degrees", "div", "epoch",
        "epoch_ms", "even", "factorial", "format", "gcd", "generate_series", "generate_subscripts",
        "hash", "hour", "instr", "isfinite", "isinf", "isnan", "json_array_elements",
        "json_array_length", "json_build_object", "json_object_keys", "justify_days", "lcm", "len",
        "levenshtein", "list", "list_aggregate", "list_contains", "list_sort", "list_sum",
        "list_value", "log10", "log2", "ltrim", "make_date", "make_interval", "make_timestamp",
        "minute", "mod", "monthname", "now", "octet_length", "overlay", "pi", "position", "power",
        "printf", "quarter", "radians", "random", "range", "repeat", "rtrim", "scale", "second",
        "sha256", "sign", "sin", "statement_timestamp", "strlen", "strpos", "struct_pack", "substr",
        "tan", "time_bucket", "to_char", "to_date", "to_hex", "to_number", "to_timestamp", "trunc",
        "typeof", "unnest", "version", "week", "width_bucket", "year", "yearweek",
    }
)  # fmt: skip


def unknown_functions(statement: exp.Expr, schema: Schema) -> list[str]:
    """The functions of a statement of which nobody knows what they do, by name."""
    found: dict[str, None] = {}
    for node in statement.find_all(exp.Func):
        name = fold(node.name if isinstance(node, exp.Anonymous) else node.sql_name())
        made = name in schema.folded_functions
        strange = name not in _HARMLESS if isinstance(node, exp.Anonymous) else name in _OUTSIDE
        if made or strange:
            found[name] = None
    return list(found)
