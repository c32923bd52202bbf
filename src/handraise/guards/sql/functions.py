"""Functions that only compute. Any other may read files, the network or other tables, so a person is asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from handraise.guards.sql.schema import fold

_REACHES: Final = (
    exp.AIAgg, exp.AIClassify, exp.AIEmbed, exp.AIForecast, exp.AIGenerate, exp.AISimilarity, exp.AISummarizeAgg,
    exp.FeaturesAtTime, exp.GapFill, exp.GenerateBool, exp.GenerateDouble, exp.GenerateEmbedding, exp.GenerateInt,
    exp.GenerateTable, exp.GenerateText, exp.MLForecast, exp.MLTranslate, exp.NextValueFor, exp.Predict,
    exp.ReadCSV, exp.ReadParquet, exp.Secret, exp.ToFile, exp.VectorSearch,
)  # fmt: skip
"""Functions that the parser knows by name and that do more than compute all the same."""

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
    """The functions of a statement of which nobody knows what they do, by name.

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
