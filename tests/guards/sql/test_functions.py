"""Functions that do more than compute, though the parser knows them by name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.guards.sql.test_corpus import CATALOGUE, SCHEMA

from handraise.guards.sql.reading import read

pytestmark = pytest.mark.shows("U4")


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "trino"])
@pytest.mark.parametrize(
    "call",
    [
        "ai_agg('x', 'y')",
        "ai_classify('x', 'y')",
        "ai_embed('x')",
        "a_i_forecast('x')",
        "ai_generate('x')",
        "ai_similarity('x')",
        "ai_summarize_agg('x')",
        "features_at_time('x')",
        "gap_fill('orders', 'y', 'z')",
        "generate_bool('x')",
        "generate_double('x')",
        "generate_embedding('x', 'y')",
        "generate_int('x')",
        "generate_table('x')",
        "generate_text('x')",
        "m_l_forecast('x')",
        "m_l_translate('x', 'y', 'z')",
        "next_value_for('x')",
        "predict('x', 'y')",
        "read_csv('x')",
        "read_parquet('x')",
        "secret('x', 'y')",
        "to_file('x')",
        "vector_search('x', 'y', 'z')",
    ],
)
def test_they_are_asked_about(dialect: str, call: str) -> None:
    assert len(read(f"SELECT {call}", dialect, SCHEMA, CATALOGUE).functions) == 1


@pytest.mark.parametrize("call", ["btrim(name)", "BTRIM(name)", '"btrim"(name)', "Btrim(name)"])
def test_what_only_computes_is_not_asked_about_however_it_is_written(call: str) -> None:
    assert read(f"SELECT {call} FROM orders", "postgres", SCHEMA, CATALOGUE).functions == ()


@pytest.mark.parametrize(
    ("call", "names"),
    [
        ("ZZ(read_csv('x'), Aa(1))", ("zz", "read_csv", "aa")),
        ("zz_made(aa_made(1), 1)", ("aa_made", "zz_made")),
        ("1 OPERATOR(public.+) 2", ("public.+",)),
    ],
)
def test_they_are_named_once_each_in_one_spelling(call: str, names: tuple[str, ...]) -> None:
    schema = replace(SCHEMA, functions=frozenset({"ZZ_made", "aa_made"}))
    assert read(f"SELECT {call}, {call}", "postgres", schema, CATALOGUE).functions == names
