"""goose's YAML: read where it is plain, and never written. What a person has to write themselves is told in full."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from handraise.gateway.clients.entries import Change

_LINE: Final = re.compile(
    r"(?P<indent> *)(?P<dash>- +)?(?:(?P<key>[\w.-]+|\"[^\"]*\"|'[^']*'):(?: +|$))?(?P<value>.*)"
)
_ODD: Final = ("&", "*", "!", "|", ">", "%", "@", "`", "{", "[", "?", "- ")
"""How a value begins that is more than a plain text."""
_NAMES: Final = {"cmd": "command"}


class _NotPlain(Exception):
    """This is YAML that we do not read."""


def read_extensions(text: str) -> dict[str, dict[str, Any]]:
    """The servers in a file, each with the members that could be read; a command is called `command`, as elsewhere.

    One that is written in a way that is not plain has none.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, lines in _blocks(list(_below(text, "extensions"))):
        try:
            found[name] = {_NAMES.get(key, key): value for key, value in _members(lines)}
        except _NotPlain:
            found[name] = {}
    return found


def lines_to_write(change: Change) -> list[str]:
    """The lines that take the place of others, in the words of goose's file. JSON is YAML, too."""
    named = {ours: theirs for theirs, ours in _NAMES.items()}
    members = [member for new in change.members.values() for member in new]
    return [f"{named.get(name, name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in members]


def _below(text: str, key: str) -> Iterator[str]:
    """The lines of a table at the top, without comments and empty ones."""
    inside = False
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not line.startswith((" ", "-")):
            inside = line.rstrip() == f"{key}:"
        elif inside:
            yield line.rstrip()


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each table one step further in, by its name."""
    if not lines:
        return
    step = _indent(lines[0])
    starts = [at for at, line in enumerate(lines) if _indent(line) == step]
    for at, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        found = _LINE.fullmatch(lines[at])
        if found is not None and found["key"] and not found["dash"] and not found["value"]:
            yield _plain(found["key"]), list(lines[at + 1 : end])


def _members(lines: Sequence[str]) -> Iterator[tuple[str, Any]]:
    step, at = _indent(lines[0]) if lines else 0, 0
    while at < len(lines):
        found = _LINE.fullmatch(lines[at])
        if found is None or not found["key"] or found["dash"] or _indent(lines[at]) != step:
            raise _NotPlain
        end = at + 1
        while end < len(lines) and (_indent(lines[end]) > step or lines[end].startswith(" " * step + "- ")):
            end += 1
        key, value, below = found["key"], found["value"], lines[at + 1 : end]
        if not below:
            yield key, _value(value)
        elif not value and all(line.lstrip().startswith("- ") for line in below):
            yield key, [_plain(line.lstrip()[2:].strip()) for line in below]
        elif key in ("cmd", "args"):
            raise _NotPlain  # an environment or a list of tools may be as it likes: it is not looked at
        at = end


def _value(text: str) -> Any:
    if text.startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            raise _NotPlain from None
    return {} if text in ("{}", "") else _plain(text)


def _plain(text: str) -> str:
    """One text, in quotes or without."""
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            raise _NotPlain from None
    if text.startswith("'"):
        if not re.fullmatch(r"'(?:[^']|'')*'", text):
            raise _NotPlain
        return text[1:-1].replace("''", "'")
    if text.startswith(_ODD) or " #" in text or ": " in text:
        raise _NotPlain
    return text


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
