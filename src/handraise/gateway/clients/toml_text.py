"""Change members in TOML, and keep the rest of the text unchanged."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from handraise.errors import SetupError
from handraise.gateway.clients.entries import Members


def parse(text: str) -> dict[str, Any]:
    """Parse TOML. SetupError when it is invalid."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SetupError(f"this is not TOML: {error}") from None


def rewrite(text: str, path: Sequence[str], changes: Mapping[str, Mapping[str, Members]]) -> str:
    """Replace members of tables below `path`; nothing else changes. Only tables with their own header are found."""
    written: list[str] = []
    table: tuple[str, ...] = ()
    for statement in _statements(text):
        header = _header(statement)
        if header is not None:
            table = header
        elif table and table[:-1] == tuple(path) and table[-1] in changes:
            statement = _replaced(statement, changes[table[-1]])
        written.append(statement)
    return "".join(written)


def _statements(text: str) -> Iterator[str]:
    """The text in pieces that are valid TOML: a header, a key with its value, a comment."""
    lines, start = text.splitlines(keepends=True), 0
    for end in range(1, len(lines) + 1):
        piece = "".join(lines[start:end])
        if _alone(piece) is not None:
            yield piece
            start = end
    yield "".join(lines[start:])


def _alone(piece: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(piece)
    except tomllib.TOMLDecodeError:
        return None


def _header(statement: str) -> tuple[str, ...] | None:
    """The table that a statement opens; None when it opens none."""
    if not statement.lstrip().startswith("["):
        return None
    names: list[str] = []
    inside: Any = _alone(statement)
    while isinstance(inside, dict) and inside:
        name, inside = next(iter(inside.items()))
        names.append(name)
    return tuple(names)


def _replaced(statement: str, members: Mapping[str, Members]) -> str:
    meant = _alone(statement) or {}
    if len(meant) != 1 or (name := next(iter(meant))) not in members:
        return statement
    lead = statement[: len(statement) - len(statement.lstrip())]
    rest = _behind(statement, meant)
    new = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in members[name]]
    return (
        f"\n{lead}".join(f"{lead}{line}" if not at else line for at, line in enumerate(new)) + rest
        if new
        else ""
    )


def _behind(statement: str, meant: Mapping[str, Any]) -> str:
    """The rest after the value: a comment, and the end of the line."""
    for end in range(len(statement)):
        if statement[end : end + 1] in " \t#\r\n" and _alone(statement[:end]) == meant:
            return statement[end:]
    return ""
