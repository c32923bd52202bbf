"""A text of SQL, taken apart: into words first, which tell what has been read before, and then into statements."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from typing import Final, TypeAlias

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from handraise.guards.sql.schema import fold

MAX_TEXT: Final = 20_000
MAX_DEPTH: Final = 100

Shape: TypeAlias = tuple[object, ...]
_NO_NAMES: Final = frozenset(
    each for each in TokenType if each.name.endswith("STRING") or each is TokenType.NUMBER
)

_BRACKETS: Final = {
    TokenType.L_PAREN: 1, TokenType.L_BRACKET: 1, TokenType.L_BRACE: 1,
    TokenType.R_PAREN: -1, TokenType.R_BRACKET: -1, TokenType.R_BRACE: -1,
}  # fmt: skip

logging.getLogger("sqlglot").addFilter(lambda record: "unsupported syntax" not in record.getMessage())


class Unreadable(Exception):
    """A text of which nobody can say what it does. The message is a sentence for the model."""


@dataclass(frozen=True, slots=True)
class Words:
    """A text as its words."""

    text: str
    dialect: Dialect
    tokens: list[Token]

    @property
    def shape(self) -> Shape:
        """The same for texts that differ in numbers, blanks and comments only: they reach the same."""
        found: list[object] = []
        for token in self.tokens:
            kind = token.token_type
            found += (kind, None if kind is TokenType.NUMBER else token.text)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A text as its statements."""

    statements: tuple[tuple[exp.Expr, ...], ...]
    """Each with all its nodes, itself first."""
    words: frozenset[str]
    """Every word, in one spelling."""
    names: frozenset[str]
    """Those of them that cannot be the name of a function."""


def split(text: str, dialect: str) -> Words:
    """The words of a text. Raises `Unreadable`."""
    if len(text) > MAX_TEXT:
        raise Unreadable(f"It has more than {MAX_TEXT:,} characters.")
    if "\0" in text:
        raise Unreadable("It has a NUL character, at which some drivers end a text.")
    speaks = Dialect.get_or_raise(dialect)
    try:
        tokens = speaks.tokenize(text)
    except SqlglotError as error:
        raise _unparsed(dialect, error) from None
    # Engines disagree about them, so that a parser may take for a comment what an engine runs.
    if "{#" in text or any("/*" in comment for token in tokens for comment in token.comments):
        raise Unreadable("It has a comment within a comment, which engines read in different ways.")
    if max(accumulate(_BRACKETS.get(token.token_type, 0) for token in tokens), default=0) > MAX_DEPTH:
        # The parser's compiled form would overflow the stack of the process and end it.
        raise Unreadable(f"It has more than {MAX_DEPTH} brackets within each other.")
    return Words(text, speaks, tokens)


def parse(words: Words) -> Parsed:
    """The statements of a text. Raises `Unreadable`, or `RecursionError`."""
    try:
        found = words.dialect.parser().parse(words.tokens, words.text)
    except (SqlglotError, ValueError) as error:
        raise _unparsed(type(words.dialect).__name__, error) from None
    statements = [each for each in found if each is not None and not isinstance(each, exp.Semicolon)]
    if not statements:
        raise Unreadable("There is no statement in it.")
    said = [(fold(token.text), token) for token in words.tokens if token.token_type not in _NO_NAMES]
    return Parsed(
        tuple(tuple(each.walk()) for each in statements),
        frozenset(word for word, _ in said),
        frozenset(
            word
            for (word, _), after in zip_longest(said, said[1:])
            if after is None or after[1].token_type is not TokenType.L_PAREN
        ),
    )


def _unparsed(dialect: str, error: Exception) -> Unreadable:
    where = str(error).partition("\n")[0][:120]
    return Unreadable(f"It cannot be parsed as {dialect} ({where}).")
