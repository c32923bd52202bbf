"""Where in a TOML text a key stands; the standard library's parser does not tell."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

Path: TypeAlias = tuple[str, ...]

_LONGEST: Final = 200
"""Lines of one value. After a longer one nothing is looked for: each of its lines costs another try."""


def lines_of_keys(text: str) -> dict[Path, int]:
    """The line, from 1, on which each key of a valid TOML text first appears."""
    found: dict[Path, int] = {}
    table: Path = ()
    for line, statement in _statements(text):
        paths = list(_paths(tomllib.loads(statement)))
        if statement.lstrip().startswith("["):
            table = max(paths, key=len)
            paths = list(_prefixes(table))
        else:
            paths = [table + path for path in paths]
        for path in paths:
            found.setdefault(path, line)
    return found


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each header and each assignment, with the line it starts on; a value may take several lines."""
    pending, start = "", 1
    for number, line in enumerate(text.split("\n"), start=1):
        if not pending:
            start = number
        pending += line + "\n"
        try:
            tomllib.loads(pending)
        except tomllib.TOMLDecodeError:
            if number - start > _LONGEST:
                return
            continue
        yield start, pending
        pending = ""


def _paths(value: dict[str, Any], above: Path = ()) -> Iterator[Path]:
    for key, inner in value.items():
        path = (*above, key)
        yield path
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            inner = inner[0]
        if isinstance(inner, dict):
            yield from _paths(inner, path)


def _prefixes(path: Path) -> Iterator[Path]:
    return (path[:length] for length in range(1, len(path) + 1))
