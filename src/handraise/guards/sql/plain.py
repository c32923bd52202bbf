"""Texts so plain that their words say all: queries over tables, of columns that are known and not personal.

Most of what a model writes is like that, and to parse it would be most of what judging it costs. Whatever is less
plain, by a single word, is parsed; so what is missing here costs time only.

What makes it safe: a column is reached by its name, or by what stands for several: a star, a table's name as a value,
a natural join, a view, a function that takes rows. None of these is plain, and neither is a name that is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from sqlglot.tokenizer_core import TokenType

from handraise.guards.sql.parsing import Words
from handraise.guards.sql.schema import Relation, Schema, fold

_LETTERS: Final[dict[TokenType, str]] = {
    **dict.fromkeys((TokenType.INNER, TokenType.LEFT, TokenType.RIGHT, TokenType.OUTER, TokenType.CROSS), "c"),
    **dict.fromkeys((TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE), "="),
    **dict.fromkeys((TokenType.PLUS, TokenType.DASH, TokenType.SLASH, TokenType.MOD), "="),
    **dict.fromkeys((TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.IS, TokenType.IN), "="),
    **dict.fromkeys((TokenType.BETWEEN, TokenType.LIKE, TokenType.ILIKE, TokenType.ASC, TokenType.DESC), "="),
    **dict.fromkeys((TokenType.CASE, TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.END), "="),
    **dict.fromkeys((TokenType.NULL, TokenType.TRUE, TokenType.FALSE, TokenType.NUMBER, TokenType.STRING), "1"),
    **dict.fromkeys((TokenType.VAR, TokenType.NAME, TokenType.DATE, TokenType.TIME, TokenType.TIMESTAMP), "n"),
    TokenType.WITH: "W", TokenType.UNION: "u", TokenType.ALL: "A", TokenType.SELECT: "s", TokenType.DISTINCT: "d",
    TokenType.FROM: "f", TokenType.JOIN: "j", TokenType.ON: "o", TokenType.USING: "o", TokenType.WHERE: "w",
    TokenType.GROUP_BY: "g", TokenType.HAVING: "h", TokenType.ORDER_BY: "r", TokenType.LIMIT: "l",
    TokenType.OFFSET: "l", TokenType.ALIAS: "a", TokenType.STAR: "*",
    **dict.fromkeys((TokenType.INT, TokenType.BIGINT, TokenType.DOUBLE, TokenType.FLOAT, TokenType.VARCHAR), "t"),
    TokenType.DCOLON: "C", TokenType.OVER: "v", TokenType.PARTITION_BY: "b",
    TokenType.COMMA: ",", TokenType.DOT: ".", TokenType.L_PAREN: "(", TokenType.R_PAREN: ")",
}  # fmt: skip
"""One letter for each word that may be there: `n` is a name, `1` a value, `=` what stands with values."""

_VALUE: Final = r"[n1=(),q*]|(?<=\()d|(?<=n)\.(?=[n*])|(?<=[n1)q])Ct|at(?=\))"
_VALUES: Final = rf"(?:{_VALUE})+"
_TABLE: Final = r"n(?:a?n)?"
_SOURCE: Final = rf"(?:{_TABLE}|q+a?n)"
_SELECT: Final = (
    rf"sd?(?:{_VALUE}|(?<=[n1)q=t])an(?=[,f]))+f{_SOURCE}(?:c*j{_SOURCE}(?:o{_VALUES})?)*(?:w{_VALUES})?(?:g{_VALUES})?"
    rf"(?:h{_VALUES})?(?:r{_VALUES})?(?:l1)*"
)
_QUERY: Final = rf"{_SELECT}(?:uA?{_SELECT})*"
_INNER: Final = re.compile(rf"\({_QUERY}\)|v\((?:b{_VALUES})?(?:r{_VALUES})?\)")
_PLAIN: Final = re.compile(rf"(?:Wnaq+(?:,naq+)*)?{_QUERY}")
_FROM: Final = re.compile(rf"[fj]({_TABLE})")
_NAMED_QUERY: Final = re.compile(r"n(?=a\(s)")
_GIVEN: Final = re.compile(r"(?<=\))n|(?<=\)a)n|(?<=[n1=t]a)n(?=[,f])")
"""What the text calls a value, or a query in it."""
_COUNTED: Final = re.compile(r"n(?=\(\*\))")
_NO_COLUMNS: Final = re.compile(r"(?<=[n1)])\*(?=[n1(])|(?<=n\()\*(?=\))")
"""A star between two values, or for what is counted. Any other stands for columns."""
_SAME_TO_ALL: Final = re.compile(r"[\w .,:/@%+-]*", re.ASCII)
"""Strings in which every engine sees the same: no quotes, no backslashes."""

_COMPUTE: Final = frozenset(
    {"abs", "avg", "cast", "ceil", "coalesce", "count", "date_trunc", "dense_rank", "floor", "lag", "lead", "length",
     "lower", "max", "min", "nullif", "rank", "round", "row_number", "sum", "trim", "upper"}
)  # fmt: skip


def plainly_reached(
    words: Words, schema: Schema, personal: Callable[[Relation], Iterable[str]]
) -> frozenset[Relation] | None:
    """The tables of a text that is plain and names nothing `personal` of theirs; None when it may not be that."""
    letters = "".join([_LETTERS.get(token.token_type, "?") for token in words.tokens])
    if _PLAIN.fullmatch(_with_inner_as_one(letters)) is None or not _are_strings_plain(words):
        return None
    names = {at: fold(words.tokens[at].text) for at, letter in enumerate(letters) if letter == "n"}
    queries = {names[found.start()] for found in _NAMED_QUERY.finditer(letters)}
    given = queries | {names[found.start()] for found in _GIVEN.finditer(letters)}
    tables: dict[str, Relation] = {}
    for found in _FROM.finditer(letters):
        said = [names.pop(at) for at in range(*found.span(1)) if letters[at] == "n"]
        name, called = said[0], said[-1]
        if name in queries:
            given.add(called)
            continue
        meant = schema.named((name,))
        if (
            len(meant) != 1
            or meant[0].definition is not None
            or tables.setdefault(called, meant[0]) != meant[0]
        ):
            return None
    if given & tables.keys() or any(schema.named((name,)) for name in given):
        return None
    hidden = frozenset().union(*map(personal, tables.values()))
    if hidden and letters.count("*") > len(_NO_COLUMNS.findall(letters)):
        return None
    if not (hidden | schema.folded_functions).isdisjoint([fold(token.text) for token in words.tokens]):
        return None
    return frozenset(tables.values()) if _are_known(names, letters, tables, given) else None


def _with_inner_as_one(letters: str) -> str:
    """With what is in the place of each query inside another made the same, from the innermost out."""
    while (outer := _INNER.sub(lambda found: "q" * len(found[0]), letters)) != letters:
        letters = outer
    return letters


def _are_strings_plain(words: Words) -> bool:
    texts = (token.text for token in words.tokens if token.token_type is TokenType.STRING)
    return all(_SAME_TO_ALL.fullmatch(text) for text in texts)


def _are_known(names: dict[int, str], letters: str, tables: dict[str, Relation], given: set[str]) -> bool:
    """Whether all names are of known columns, of functions that compute, or given."""
    if any(names[found.start()] != "count" for found in _COUNTED.finditer(letters)):
        return False
    columns = given.union(*(table.folded for table in tables.values()))
    for at, name in names.items():
        before, after = letters[at - 1], letters[at + 1 : at + 2]
        if after == "(":
            known = before != "." and name in _COMPUTE  # what is before a dot would be its first argument
        elif after == ".":
            known = before != "." and (name in tables or name in given)
        elif before == "." and (table := tables.get(names[at - 2])) is not None:
            known = name in table.folded
        else:
            known = name in columns and name not in tables
        if not known:
            return False
    return True
