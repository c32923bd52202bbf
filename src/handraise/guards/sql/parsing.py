"""Parse SQL with sqlglot into statements, with the text of each for a person."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, zip_longest
from typing import Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from handraise.guards.sql.schema import fold

MAX_TEXT: Final = 20_000
MAX_DEPTH: Final = 100
DIALECTS: Final = frozenset({"duckdb", "postgres", "trino"})
"""The SQL whose comments, strings and functions the guard knows."""

_NO_NAMES: Final = frozenset(
    each for each in TokenType if each.name.endswith("STRING") or each is TokenType.NUMBER
)

_BRACKETS: Final = {
    TokenType.L_PAREN: 1, TokenType.L_BRACKET: 1, TokenType.L_BRACE: 1,
    TokenType.R_PAREN: -1, TokenType.R_BRACKET: -1, TokenType.R_BRACE: -1,
}  # fmt: skip

logging.getLogger("sqlglot").addFilter(lambda record: "unsupported syntax" not in record.getMessage())


class UnreadableSql(Exception):
    """A text whose effects are unknown. The message is a sentence for the model."""


@dataclass(frozen=True, slots=True)
class ParsedSql:
    """A text as its statements."""

    statements: tuple[tuple[exp.Expr, ...], ...]
    """Each with all its nodes, itself first."""
    shown: tuple[str, ...]
    """The text of each, without comments and with one blank or line end between two words."""
    comments: int
    """How many characters of the text are comments."""
    words: frozenset[str]
    """Every word, in one spelling."""
    names: frozenset[str]
    """The words that cannot be the name of a function."""


def parse(text: str, dialect: str) -> ParsedSql:
    """The statements of a text. Raises `UnreadableSql`, or `RecursionError`."""
    tokens = _tokens(text, dialect)
    try:
        found = Dialect.get_or_raise(dialect).parser().parse(tokens, text)
    except RecursionError:
        raise
    except Exception as error:  # noqa: BLE001 - the parser may fail in any way at hostile text
        raise _unparsed(dialect, error) from None
    statements = [each for each in found if each is not None and not isinstance(each, exp.Semicolon)]
    if not statements:
        raise UnreadableSql("There is no statement in it.")
    nodes = [tuple(each.walk()) for each in statements]
    for statement in nodes:
        known = set(map(id, statement))
        if any(id(node.parent) not in known for node in statement[1:]):
            # Which query a node belongs to would be unknown, and so would be the tables of its names.
            raise UnreadableSql("Its parts do not belong together in a way that the guard can follow.")
    shown = [_shown(text, each) for each in _by_statement(tokens)]
    if len(shown) != len(statements):
        raise UnreadableSql("It cannot be told where its statements end.")
    said = [(fold(token.text), token) for token in tokens if token.token_type not in _NO_NAMES]
    return ParsedSql(
        tuple(nodes),
        tuple(shown),
        _visible(text) - sum(_visible(text[token.start : token.end + 1]) for token in tokens),
        frozenset(word for word, _ in said),
        frozenset(
            word
            for (word, _), after in zip_longest(said, said[1:])
            if after is None or after[1].token_type is not TokenType.L_PAREN
        ),
    )


def _tokens(text: str, dialect: str) -> list[Token]:
    if dialect not in DIALECTS:
        raise UnreadableSql(f"The guard does not read {dialect}.")
    if len(text) > MAX_TEXT:
        raise UnreadableSql(f"It has more than {MAX_TEXT:,} characters.")
    if "\0" in text:
        raise UnreadableSql("It has a NUL character, at which some drivers end a text.")
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(text)
    except SqlglotError as error:
        raise _unparsed(dialect, error) from None
    # An engine may run a part of these which the parser takes for a comment.
    comments = [comment for token in tokens for comment in token.comments]
    if "{#" in text or any("/*" in comment for comment in comments):
        raise UnreadableSql("It has a comment within a comment, which engines read in different ways.")
    if any(comment.startswith(("!", "M!")) for comment in comments):
        raise UnreadableSql("It has a comment that some engines run.")
    if max(accumulate(_BRACKETS.get(token.token_type, 0) for token in tokens), default=0) > MAX_DEPTH:
        # The parser's compiled form would overflow the stack of the process and end it.
        raise UnreadableSql(f"It has more than {MAX_DEPTH} brackets within each other.")
    return tokens


def _by_statement(tokens: Iterable[Token]) -> list[list[Token]]:
    """The tokens of each statement; semicolons separate them."""
    found: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            found.append([])
        else:
            found[-1].append(token)
    return [each for each in found if each]


def _shown(text: str, tokens: Sequence[Token]) -> str:
    """The tokens as they are written. Only blanks and comments lie between two of them."""
    parts = [text[tokens[0].start : tokens[0].end + 1]]
    for before, token in pairwise(tokens):
        between = text[before.end + 1 : token.start]
        parts.append("\n" if "\n" in between else " " if between else "")
        parts.append(text[token.start : token.end + 1])
    return "".join(parts)


def _visible(text: str) -> int:
    """The number of characters that are not blanks."""
    return sum(map(len, text.split()))


def _unparsed(dialect: str, error: Exception) -> UnreadableSql:
    where = str(error).partition("\n")[0][:120]
    return UnreadableSql(f"It cannot be parsed as {dialect} ({where}).")
